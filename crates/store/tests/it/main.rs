//! The store in SQLite: against the contract of stores, and what is its own.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod closing;
mod contract;
mod crash;
mod erasing;
mod failure;
mod full;
mod logs;
mod opening;
mod support;
mod upgrade;
