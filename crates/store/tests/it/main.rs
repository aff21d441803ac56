//! Tests of the stores: the contract of stores, and behaviour of single stores.
#![expect(clippy::unwrap_used, reason = "these are tests")]

#[cfg(feature = "postgres")]
mod bus;
mod closing;
mod contract;
mod crash;
mod erasing;
mod failure;
mod full;
mod logs;
mod opening;
mod owners;
#[cfg(feature = "postgres")]
mod postgres;
mod reading;
mod support;
mod upgrade;
