//! `nuncio serve` (cli specification, section 12): an agent of a program, or the demo agent, on a port.
//!
//! Settings come from flags, `NUNCIO_SERVE_*` variables and a TOML file, by one table ([`settings`]); they become an
//! agent ([`agent`]), a store ([`store`]) and a server ([`start`]).

mod agent;
mod announce;
mod args;
mod bindings;
mod bus;
mod file;
mod housekeeping;
mod identity;
mod limits;
mod origin;
mod settings;
mod start;
mod store;
mod values;
mod versions;

pub(crate) use args::{ServeArgs, flag_hint, program_hint, value_hint};
pub(crate) use start::CUT_OFF;
#[cfg(feature = "postgres")]
pub(crate) use store::explain_postgres;
pub(crate) use store::{Place, explain};

use std::{collections::BTreeMap, process::ExitCode};

use nuncio_engine::Housekeeping;

use super::config_show::Effective;
use crate::{config::Source, context::Context, error::CliError, log};
use identity::Identity;
use settings::Settings;
#[cfg(test)]
pub(crate) use settings::variable;

/// Serves until a signal comes.
pub(crate) async fn run(context: &Context, args: &ServeArgs) -> Result<ExitCode, CliError> {
    let settings = Settings::load(context.global.config.as_deref(), args)?;
    settings.check()?;
    let is_quiet = settings.switch("quiet")?;
    let is_json = settings.parsed("log-format", is_json)?.unwrap_or(false);
    log::serve(context.global.debug, if is_quiet { "warn" } else { "info" }, is_json);
    start::serve(context, &settings).await
}

/// Whether log lines are JSON.
fn is_json(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "text" => Ok(false),
        "json" => Ok(true),
        _ => Err(format!("`{text}` is neither text nor json")),
    }
}

/// What `nuncio db` takes over from the settings of `nuncio serve`.
pub(crate) struct Kept {
    /// Where tasks are.
    pub(crate) place: Place,
    /// How long.
    pub(crate) housekeeping: Housekeeping,
    /// The rules of [`Self::housekeeping`] as they were given.
    pub(crate) rules: Vec<String>,
}

/// Where and for how long tasks are kept, by flags of this command, variables and a file.
pub(crate) fn kept(context: &Context, given: BTreeMap<&'static str, Vec<String>>) -> Result<Kept, CliError> {
    let settings = Settings::load(context.global.config.as_deref(), &ServeArgs::of(given))?;
    let housekeeping = housekeeping::housekeeping(&settings)?;
    let mut rules: Vec<_> = settings.list("retention").into_iter().map(|rule| rule.trim().to_owned()).collect();
    rules.extend(settings.get("log-retention").map(|time| format!("log-retention={time}")));
    Ok(Kept { place: place(&settings)?, housekeeping, rules })
}

/// The settings as they hold, for `nuncio config show`.
pub(crate) fn effective(context: &Context) -> Result<Vec<Effective>, CliError> {
    let settings = Settings::load(context.global.config.as_deref(), &ServeArgs::default())?;
    settings.check()?;
    // What `serve` would refuse.
    start::Plan::of(&settings)?;
    let mut effective = settings.effective();
    if let (Some(store), Place::Sqlite(path)) =
        (effective.iter_mut().find(|it| it.name == "store" && it.source == Source::Default), place(&settings)?)
    {
        store.value = format!("sqlite:{}", path.display());
    }
    Ok(effective)
}

/// Where the tasks of the agent of these settings are.
fn place(settings: &Settings) -> Result<Place, CliError> {
    let identity = agent::choose(settings, false).map_or_else(|_| Identity::demo(), |it| it.identity);
    Place::of(settings, &identity)
}
