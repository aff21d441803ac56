//! The envelope of JSON-RPC 2.0 (section 9 "JSON-RPC Protocol Binding"), for both roles.
//!
//! Server: [`parse_request`], then the dialect reads the params, then [`write_result`] or [`write_error`]. Client:
//! [`write_request`], then [`parse_response`], then the dialect reads the result. Each `data` of a stream is a complete
//! response. All versions share the envelope.

mod id;
mod request;
mod response;

pub use id::Id;
pub use request::{Incoming, parse_request, write_request};
pub use response::{parse_response, write_error, write_result};
