//! Programs as agents: [`Exec`] runs any filter, and [`JsonLines`] runs any script that exchanges JSON lines.
//!
//! Both run a [`Program`] once for each turn, in a separate process group. All processes of the group end with the
//! turn.

mod chunks;
mod exec;
mod json_lines;
mod pieces;
mod program;
mod size;

pub use exec::Exec;
pub use json_lines::JsonLines;
pub use program::{Program, ProgramError, ProgramLimits, User, UserError};
