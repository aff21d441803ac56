//! The model against the specification: every message, field, enum and operation, and the JSON of each.

mod arbitrary;
mod input;
mod operations;
mod roundtrip;
mod sample;
mod snapshots;
mod spec;
mod tables;
