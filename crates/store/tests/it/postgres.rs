//! The store in PostgreSQL: against the contracts of stores and clusters, and what is its own.

mod contract;
mod messages;
mod place;
