//! The tests of `nuncio-wire`, in one binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod aliases;
mod envelope;
mod errors;
mod events;
mod examples;
mod hostile;
mod losses;
mod paths;
mod proto;
mod requests;
mod spec;
mod versions;
