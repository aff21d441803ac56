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
#[cfg(feature = "v0-1")]
pub mod v0_1;
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub mod v0_3;
pub mod v1_0;

mod json;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod part;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod shape;

pub use dialect::{
    Dialect, Events, FileBytes, GrpcDialect, JsonRpcDialect, RestDialect, Version, dialect, dialect_with,
};
pub use negotiate::Versions;
pub use nuncio_model::{Leniency, leniency};
