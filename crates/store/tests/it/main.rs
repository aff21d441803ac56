//! The store in SQLite: against the contract of stores, and what is its own.

mod contract;
