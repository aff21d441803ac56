//! The tests of `nuncio-server`, in one binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod grpc;
mod http;
mod store;
