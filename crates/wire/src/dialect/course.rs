//! How a call of one version is made of calls of another.

use std::pin::Pin;

use nuncio_model::{Calling, Request};

/// How to make a call.
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and lives for a moment")]
pub enum Course<'a> {
    /// With this request, once.
    Direct(Request),
    /// In steps that lead to its reply.
    Steps(Calling<'a>),
}

/// A question that takes calls to answer.
pub type Judging<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
