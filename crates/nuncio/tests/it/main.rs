//! First steps with the facade: the examples, and the hints of the compiler.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod errors;
mod examples;
mod hints;
#[allow(dead_code, reason = "its `main` is that of the example")]
#[path = "../../examples/test_an_agent.rs"]
mod test_an_agent;
