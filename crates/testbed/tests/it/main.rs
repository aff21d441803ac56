//! Tests of starts, faults and ends of servers, and of a proxy's faults.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod ends;
mod nats;
mod postgres;
mod proxy;
mod repository;
