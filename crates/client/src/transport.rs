//! The client side of the bindings: each is a [`Caller`](nuncio_model::Caller), as an engine is.
//!
//! The events of a streaming call are those of one connection. [`Watch`](crate::Watch) resumes a stream that broke.

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
