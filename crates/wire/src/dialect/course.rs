//! How a call of one version is made of calls of another.

use std::pin::Pin;

use nuncio_model::{Calling, Request};

/// How to make a call.
pub enum Course<'a> {
    /// With this request, once.
    Direct(Request),
    /// In steps that lead to its reply.
    Steps(Calling<'a>),
}

/// A question that takes calls to answer.
pub type Judging<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
