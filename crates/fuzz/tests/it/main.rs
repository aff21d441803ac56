//! The targets on what is kept, and on variations of it that are the same each time.
#![allow(clippy::unwrap_used, reason = "tests")]

mod corpus;
mod memory;
mod mutate;
mod replay;
