//! The engine, driven as a binding drives it.

mod cancel;
mod conversation;
mod failure;
mod push;
mod send;
mod store;
mod stream;
mod support;
