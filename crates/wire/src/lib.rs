//! Converts between bytes and the model, for every version and binding of the protocol, without I/O.
//!
//! A server finds the version of a request with [`Versions`], reads the envelope with [`jsonrpc`] or the path with
//! [`rest`], and lets the [`Dialect`] of the version decode a `Call`. All code after that is independent of versions.
//! The same dialect encodes the `Reply`, or each event of a stream, into the same envelope. [`sse`] frames the events
//! of a stream. A client uses the same modules in the opposite direction.
//!
//! A version is one folder, for example [`v1_0`], and one variant of [`Version`]. Code outside of this crate does not
//! depend on particular versions.

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
