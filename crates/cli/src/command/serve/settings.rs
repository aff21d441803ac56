//! The values of the settings of `nuncio serve`, with their sources: flags, variables and a file.

mod table;

use std::{collections::BTreeMap, path::Path, time::Duration};

use nuncio_model::address;
pub(crate) use table::variable;
pub(super) use table::{Kind, SETTINGS, Setting, is_address};

use super::{args::ServeArgs, file, values};
use crate::{
    args::{duration, switch},
    command::config_show::Effective,
    config::Source,
    diag,
    error::CliError,
    sealed,
};

/// A variable with a misspelt name has no effect: warn.
fn warn_of_unknown_variables() {
    let known =
        |name: &str| name == variable("config") || SETTINGS.iter().any(|setting| variable(setting.name) == name);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with(&variable("")) && !known(&name) {
            diag::warn(&format!("{name} is not a setting; `nuncio serve --help` lists them"));
        }
    }
}

/// The values and their sources.
#[derive(Debug, Default)]
pub(super) struct Settings {
    set: BTreeMap<&'static str, (Vec<String>, Source)>,
    pub(super) command: Vec<String>,
}

impl Settings {
    /// A flag beats a variable, which beats the file.
    pub(super) fn load(config: Option<&Path>, args: &ServeArgs) -> Result<Self, CliError> {
        let mut settings = Self { set: BTreeMap::new(), command: args.command.clone() };
        let named = std::env::var_os(variable("config")).filter(|path| !path.is_empty());
        if let Some(path) = config.map(Path::to_owned).or_else(|| named.map(Into::into)) {
            settings.set = file::read(&path)?;
        }
        warn_of_unknown_variables();
        for setting in SETTINGS {
            let variable = variable(setting.name);
            if let Some(value) = sealed::variable_of(&variable).filter(|value| !value.is_empty()) {
                let values = match setting.kind {
                    Kind::List => value.split(',').map(|item| item.trim().to_owned()).collect(),
                    _ => vec![value],
                };
                settings.set.insert(setting.name, (values, Source::Environment(variable)));
            }
        }
        // A program on the command line takes the place of any other.
        if ["exec", "jsonl"].iter().any(|name| args.given.contains_key(name)) {
            settings.set.retain(|name, _| !matches!(*name, "exec" | "jsonl"));
        }
        for (name, values) in &args.given {
            settings.set.insert(name, (values.clone(), Source::Flag));
        }
        for (_, (values, _)) in settings.set.iter().filter(|(name, _)| is_address(name)) {
            diag::hide(values.iter().flat_map(|value| address::secrets(value)).map(str::to_owned));
        }
        Ok(settings)
    }

    /// The values of a list.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        let (values, _) = self.set.get(name).map_or((&[][..], &Source::Default), |(values, source)| (values, source));
        values
            .iter()
            .flat_map(|value| if name == "token" { vec![&**value] } else { value.split(',').collect() })
            .collect()
    }

    /// All values of a setting; `None` if the setting is unset.
    pub(super) fn values(&self, name: &str) -> Option<&[String]> {
        self.set.get(name).map(|(values, _)| &**values)
    }

    /// The value of a setting, if it is set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.set.get(name)?.0.last().map(String::as_str)
    }

    /// The parsed value of a setting.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        parse(value).map(Some).map_err(|reason| self.wrong(name, &reason))
    }

    /// The error for a wrong value, with the source of the value.
    pub(super) fn wrong(&self, name: &str, reason: &str) -> CliError {
        self.set.get(name).map_or(&Source::Default, |(_, source)| source).refuse(name, reason)
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool, CliError> {
        Ok(self.parsed(name, switch)?.unwrap_or(false))
    }

    pub(super) fn duration(&self, name: &str) -> Result<Option<Duration>, CliError> {
        self.parsed(name, duration)
    }

    pub(super) fn size(&self, name: &str) -> Result<Option<usize>, CliError> {
        self.parsed(name, values::size)
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, CliError> {
        self.parsed(name, values::count)
    }

    pub(super) fn port(&self) -> Result<Option<u16>, CliError> {
        self.parsed("port", |text| {
            text.trim().parse().map_err(|_| format!("`{text}` is not a port, a number from 0 to 65535"))
        })
    }

    /// Fails with the first value that does not have the type of its setting.
    pub(super) fn check(&self) -> Result<(), CliError> {
        for setting in SETTINGS {
            match (setting.kind, setting.value) {
                (Kind::Switch, _) => {
                    self.switch(setting.name)?;
                }
                (Kind::One, "DURATION") => self.check_zero(setting, self.duration(setting.name)?)?,
                (Kind::One, "SIZE") => self.check_zero(setting, self.size(setting.name)?)?,
                (Kind::One, "N") => self.check_zero(setting, self.count(setting.name)?)?,
                (Kind::One, "PORT") => {
                    self.port()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_zero<T: Default + PartialEq>(&self, setting: &Setting, value: Option<T>) -> Result<(), CliError> {
        if !setting.is_positive || value.is_none_or(|value| value != T::default()) {
            return Ok(());
        }
        let default = setting.default;
        Err(self
            .wrong(setting.name, "it must be more than 0")
            .with_hint(format!("leave it out for the default: {default}")))
    }

    /// Each setting with its effective value.
    pub(super) fn effective(&self) -> Vec<Effective> {
        SETTINGS
            .iter()
            .map(|setting| {
                let is_secret = setting.name == "token";
                let (value, source) = match self.set.get(setting.name) {
                    Some((values, source)) if is_address(setting.name) => {
                        (address::without_secrets(&values.join(",")), source.clone())
                    }
                    Some((values, source)) => (values.join(","), source.clone()),
                    None if setting.kind == Kind::Switch => ("false".to_owned(), Source::Default),
                    None => (setting.default.to_owned(), Source::Default),
                };
                let default = if setting.kind == Kind::Switch { "false" } else { setting.default };
                Effective { name: setting.name.to_owned(), value, source, is_secret, default }
            })
            .collect()
    }
}
