//! Every behaviour of the demo agent, run by a real engine.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod card;
mod data;
mod support;
mod tck;
mod turns;
mod words;
