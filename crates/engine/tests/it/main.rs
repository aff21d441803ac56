//! The engine, driven as a binding drives it.

mod cancel;
mod conversation;
mod failure;
mod push;
mod send;
mod stream;
mod support;
