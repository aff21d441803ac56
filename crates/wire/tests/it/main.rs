//! The tests of `nuncio-wire`, in one binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod aliases;
mod cards;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod emitted;
mod envelope;
mod errors;
mod events;
mod examples;
mod hostile;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod leniencies;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod losses;
mod paths;
mod proto;
#[cfg(all(feature = "v0-2", feature = "v0-3"))]
mod proto_v0_3;
mod requests;
mod spec;
#[cfg(feature = "v0-1")]
mod v0_1;
#[cfg(all(feature = "v0-2", feature = "v0-3"))]
mod v0_3;
mod versions;
