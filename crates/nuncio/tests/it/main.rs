//! What a user of the facade meets first: the examples, and the hints of the compiler.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod errors;
mod examples;
mod hints;
