//! `nuncio serve` (cli specification, section 12): an agent of a program, or the demo agent, on a port.
//!
//! Settings come from flags, `NUNCIO_SERVE_*` variables and a TOML file, by one table ([`settings`]); they become an
//! agent ([`agent`]), a store ([`store`]) and a server ([`start`]).

mod agent;
mod args;
mod bus;
mod file;
mod limits;
mod settings;
mod start;
mod store;
mod values;
mod versions;

pub(crate) use args::{ServeArgs, program_hint};
pub(crate) use start::CUT_OFF;

use std::process::ExitCode;

use super::config_show::Effective;
use crate::{context::Context, error::CliError, log};
use settings::Settings;

/// Serves until a signal comes.
pub(crate) async fn run(context: &Context, args: &ServeArgs) -> Result<ExitCode, CliError> {
    let settings = Settings::load(context.global.config.as_deref(), args)?;
    let is_quiet = settings.switch("quiet")?;
    log::start(context.global.debug, if is_quiet { "warn" } else { "info" });
    start::serve(context, &settings).await
}

/// The settings as they hold, for `nuncio config show`.
pub(crate) fn effective(context: &Context) -> Result<Vec<Effective>, CliError> {
    Ok(Settings::load(context.global.config.as_deref(), &ServeArgs::default())?.effective())
}
