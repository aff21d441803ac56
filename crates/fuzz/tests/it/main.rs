//! Runs the targets on the corpus and on deterministic variations.
#![allow(clippy::unwrap_used, reason = "tests")]

mod corpus;
mod memory;
mod mutate;
mod replay;
