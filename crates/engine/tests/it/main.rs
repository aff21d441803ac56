//! The engine, driven as a binding drives it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod admission;
mod cancel;
mod conversation;
mod dropped;
mod failure;
mod founding;
mod outage;
mod property;
mod push;
mod queue;
mod readers;
mod repetition;
mod rigged;
mod send;
mod shutdown;
mod store;
mod stream;
mod support;
