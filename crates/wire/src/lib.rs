//! Bytes to model and back, for every version and binding of the protocol, without I/O.
//!
//! A server asks [`Versions`] which version a request speaks, reads the envelope with [`jsonrpc`] or the path with
//! [`rest`], and lets the version's [`Dialect`] make a `Call` of it; from there on no version exists. The `Reply`, or
//! each event of a stream, goes back through the same dialect into the same envelope, framed by [`sse`] where it
//! streams. A client walks the same way from the other end.
//!
//! A version is one folder, [`v1_0`] for example, and one variant of [`Version`]; nothing outside this crate knows
//! which there are.

pub mod card;
pub mod dialect;
pub mod jsonrpc;
pub mod negotiate;
pub mod proto;
pub mod rest;
pub mod sse;
pub mod status;
pub mod v1_0;

mod json;

pub use dialect::{Dialect, RestDialect, Version, dialect, rest_dialect};
pub use negotiate::Versions;
