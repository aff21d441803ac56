//! The bus over real NATS servers.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod contract;
mod faults;
mod login;
mod support;
mod tls;
