//! Version 0.1: shapes against the specification's tables and examples, courses over engines and scripted peers.

mod ask;
mod envelope;
mod examples;
mod harness;
mod losses;
mod reopen;
mod schema;
mod serve;
mod shapes;
mod streams;
