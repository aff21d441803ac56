//! The tests of `nuncio-wire`, in one binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod envelope;
mod errors;
mod events;
mod examples;
mod hostile;
mod paths;
mod proto;
mod requests;
mod spec;
#[cfg(feature = "v0-1")]
mod v0_1;
mod versions;
