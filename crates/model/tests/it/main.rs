//! The model against the specification: every message, field, enum and operation, and the JSON of each.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod arbitrary;
mod input;
mod operations;
mod roundtrip;
mod sample;
mod snapshots;
mod spec;
mod tables;
