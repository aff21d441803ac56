//! Servers that start, break and end as they are told, and a proxy that does to connections what it says.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod ends;
mod nats;
mod postgres;
mod proxy;
mod repository;
