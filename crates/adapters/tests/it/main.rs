//! Programs as agents of a real engine.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cancel;
mod examples;
mod exec;
mod json_lines;
mod limits;
mod support;
