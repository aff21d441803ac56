//! The dispatcher, with a real engine and real receivers.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod failures;
mod fairness;
mod guarding;
mod order;
mod panics;
mod support;
mod versions;
