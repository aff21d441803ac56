//! The client side of the bindings. Each binding is a [`Caller`](nuncio_model::Caller), like an engine.
//!
//! The events of a streaming call are the events of one connection. [`Watch`](crate::Watch) resumes a broken stream.

pub(crate) mod fallback;
mod full_answer;
pub(crate) mod grpc;
pub(crate) mod jsonrpc;
mod link;
pub(crate) mod older;
pub(crate) mod rest;
mod sse;
pub(crate) mod versioned;

pub(crate) use link::Link;
