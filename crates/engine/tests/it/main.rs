//! Tests of the engine through its public interface, as bindings use it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod admission;
mod adoption;
mod bus;
mod cancel;
mod cluster;
mod commands;
mod conversation;
mod cursor;
mod data;
mod dedup;
mod deleted;
mod dropped;
mod elsewhere;
mod failure;
mod fencing;
mod housekeeping;
mod ids;
mod lease;
mod memory;
mod nesting;
mod nodes;
mod outage;
mod precreate;
mod property;
mod push;
mod queue;
mod readers;
mod resumed;
mod rigged;
mod send;
mod shutdown;
mod store;
mod stream;
mod support;
mod unheard;
mod zombies;
