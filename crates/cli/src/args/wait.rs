//! How long to wait, and how often to ask.

use std::time::Duration;

use clap::Args;

use super::values::duration;

/// Flags of commands that may wait.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct WaitArgs {
    /// Give up after this long, for example 30s [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Ask this often where an agent does not stream [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_negative_numbers = true, alias = "polling-interval")]
    pub(crate) poll_interval: Option<Duration>,
}
