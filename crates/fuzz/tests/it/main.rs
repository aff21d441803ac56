//! The targets on what is kept, and on variations of it that are the same each time.

mod corpus;
mod memory;
mod mutate;
mod replay;
