//! The tests of `nuncio-wire`, in one binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod proto;
