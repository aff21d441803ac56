//! Programs as agents: [`Exec`] makes one of any filter, [`JsonLines`] of any script that speaks the protocol by lines.
//!
//! Both run a [`Program`] once for each turn, in a process group of its own, and none of it outlives the turn.

mod chunks;
mod exec;
mod json_lines;
mod pieces;
mod program;
mod size;

pub use exec::Exec;
pub use json_lines::JsonLines;
pub use program::{Program, ProgramError, ProgramLimits, User, UserError};
