//! The envelope of JSON-RPC 2.0 (section 9), for both roles.
//!
//! Server: [`parse_request`], then the dialect on the params, then [`write_result`] or [`write_error`]. Client:
//! [`write_request`], then [`parse_response`], then the dialect on the result. Each `data` of a stream is a whole
//! response. All versions share the envelope.

mod id;
mod request;
mod response;

pub use id::Id;
pub use request::{Incoming, parse_request, write_request};
pub use response::{parse_response, write_error, write_result};
