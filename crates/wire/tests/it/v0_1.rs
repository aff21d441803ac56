//! Version 0.1: shapes, compared with the tables and examples of the specification, and plans with engines and scripted
//! peers.

mod ask;
mod envelope;
mod examples;
mod harness;
mod lenient;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod losses;
mod reopen;
pub(crate) mod schema;
mod serve;
mod shapes;
mod streams;
