//! The client side of a binding: a call goes in, a reply comes out (the same service as an engine).

pub(crate) mod fallback;
pub(crate) mod grpc;
pub(crate) mod jsonrpc;
mod link;
pub(crate) mod older;
pub(crate) mod rest;
mod sse;
pub(crate) mod versioned;
mod whole;

use async_trait::async_trait;
use nuncio_model::{Error, Reply, Request};

pub(crate) use link::Link;

/// Takes calls to an agent: over a binding, or any other way.
///
/// The events of a streaming call are what came over this one connection; [`Watch`](crate::Watch) takes a broken stream
/// up again.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Makes a call. Of the request's scope a transport knows only the tenant that it was made for.
    ///
    /// # Errors
    ///
    /// What the agent answered, or an error with a [`Failure`](crate::Failure) as its source.
    async fn call(&self, request: Request) -> Result<Reply, Error>;
}
