//! Every behaviour of the demo agent with a real engine.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod card;
mod data;
mod support;
mod tck;
mod turns;
mod words;
