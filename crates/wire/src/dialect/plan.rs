//! The execution plan of a call: the calls of version 1.0 that execute a call of another version.

use std::pin::Pin;

use nuncio_model::{Calling, Request};

/// The execution plan of a call.
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and exists for a moment only")]
pub enum Plan<'a> {
    /// One call with this request.
    Direct(Request),
    /// Several steps, which result in the reply.
    Steps(Calling<'a>),
}

/// The answer to a question, if calls are needed to find the answer.
pub type Judging<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
