//! Tests of the PostgreSQL store: the contracts of stores and clusters, and its own behaviour.

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
