//! The store in PostgreSQL: against the contracts of stores and clusters, and what is its own.

mod beside;
mod contract;
mod deletion;
mod failover;
mod faults;
mod messages;
mod nodes;
pub(crate) mod place;
mod pushes;
mod schema;
mod tls;
mod upkeep;
