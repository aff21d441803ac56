//! The context of a command beside its arguments.

use crate::{
    args::{Format, GlobalArgs},
    config::{Layers, variable},
    diag,
    error::CliError,
    output::Output,
    style::{self, Color},
};

/// The settings of a run, and the way to stdout.
pub(crate) struct Context {
    pub(crate) layers: Layers,
    pub(crate) output: Output,
    pub(crate) global: GlobalArgs,
}

impl Context {
    /// Reads the layers of settings. `agent` is the reference given as a flag, for the section of a file.
    pub(crate) fn load(global: &GlobalArgs, agent: Option<&str>, reads_file: bool) -> Result<Self, CliError> {
        let mut global = global.clone();
        if global.config.is_none() && reads_file {
            global.config = std::env::var_os(variable("config")).filter(|path| !path.is_empty()).map(Into::into);
        }
        let layers = Layers::load(global.config.as_deref().filter(|_| reads_file), agent)?;
        for path in &layers.exposed {
            diag::warn(&format!("{} holds credentials and can be read by others; chmod 600 it", path.display()));
        }
        layers.unknown.iter().for_each(|slip| diag::warn(slip));
        let format = match global.output {
            Some(format) => format,
            None => layers.parsed("output", format_of)?.unwrap_or(Format::Text),
        };
        let color = match global.color {
            Some(color) => color,
            None => layers.parsed("color", style::color_of)?.unwrap_or(Color::Auto),
        };
        style::choose(color);
        global.verbose |= layers.switch("verbose")?.unwrap_or(false);
        global.debug |= layers.switch("debug")?.unwrap_or(false);
        let output = Output::new(format, global.stream, global.verbose);
        Ok(Self { layers, output, global })
    }

    /// A setting as text: the flag, else what a layer has.
    pub(crate) fn text(&self, flag: Option<&String>, name: &str) -> Option<String> {
        flag.cloned().or_else(|| self.layers.value(name).map(str::to_owned))
    }

    /// A setting of another type.
    pub(crate) fn value<T>(
        &self,
        flag: Option<T>,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        match flag {
            Some(value) => Ok(Some(value)),
            None => self.layers.parsed(name, parse),
        }
    }

    /// A switch: on by its flag, otherwise the value of a layer.
    pub(crate) fn switch(&self, flag: bool, name: &str) -> Result<bool, CliError> {
        Ok(flag || self.layers.switch(name)?.unwrap_or(false))
    }

    /// A list: the flags, else what a layer has, between commas.
    pub(crate) fn list(&self, flags: &[String], name: &str) -> Vec<String> {
        if !flags.is_empty() {
            return flags.to_vec();
        }
        self.layers.value(name).map(|text| items(text).map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// What stands between commas.
pub(crate) fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

pub(crate) fn format_of(text: &str) -> Result<Format, String> {
    <Format as clap::ValueEnum>::from_str(text, true).map_err(|_| format!("`{text}` is none of text, json and jsonl"))
}
