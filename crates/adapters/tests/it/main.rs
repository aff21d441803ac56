//! Programs as agents, run by a real engine.

mod cancel;
mod exec;
mod json_lines;
mod limits;
mod support;
