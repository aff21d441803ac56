//! Tests of the binary: documents, lines, errors, exit codes and served agents.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod agent;
mod bus;
mod config;
mod crashes;
mod db;
mod documents;
mod errors;
mod foreign;
mod hints;
mod hostile;
mod isolation;
mod lines;
mod log;
#[cfg(target_os = "linux")]
mod memory;
mod secrets;
mod serve;
mod short;
mod site;
#[cfg(target_os = "linux")]
mod small_values;
mod text;
mod usage;
mod versions;
