//! The settings of `nuncio serve`: one row each, whatever they are given by.

use std::{collections::BTreeMap, path::Path, time::Duration};

use nuncio_engine::address;

use super::{args::ServeArgs, file, values};
use crate::{
    args::{duration, switch},
    command::config_show::Effective,
    config::Source,
    diag,
    error::CliError,
};

/// A setting.
pub(super) struct Setting {
    /// The flag, the key in a file, and the end of the variable.
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) kind: Kind,
    /// What stands for the value in the help.
    pub(super) value: &'static str,
    /// What holds without it.
    pub(super) default: &'static str,
    pub(super) heading: &'static str,
    pub(super) help: &'static str,
}

impl Setting {
    /// Whether a number without quotes can be meant: a count, or seconds, or bytes.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.value, "DURATION" | "N" | "PORT" | "SIZE" | "WINDOW")
    }
}

/// What values a setting has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    One,
    List,
    /// A command line for a shell, or none where the command comes behind `--`.
    Program,
}

const fn row(
    kind: Kind,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { name, aliases: &[], kind, value, default, heading: "", help }
}

const fn headed<const N: usize>(heading: &'static str, rows: [Setting; N]) -> [Setting; N] {
    let mut rows = rows;
    let mut index = 0;
    while index < N {
        rows[index].heading = heading;
        index += 1;
    }
    rows
}

use Kind::{List, One, Program, Switch};

const AGENT: [Setting; 17] = headed(
    "Agent",
    [
        row(
            Program,
            "exec",
            "LINE",
            "",
            "Run a program for each message: text in, text out; --exec -- CMD, or a line for sh",
        ),
        row(
            Program,
            "jsonl",
            "LINE",
            "",
            "Run a program for each turn that speaks JSON lines; --jsonl -- CMD, or a line for sh",
        ),
        row(One, "chunk", "DELIMITER", "each line", "Cut the output of --exec at this delimiter"),
        row(Switch, "resume", "", "", "Run a program again for a turn that a crash cut off"),
        row(One, "name", "NAME", "by the agent", "The agent's name in its card"),
        row(One, "description", "TEXT", "by the agent", "The agent's description in its card"),
        row(One, "card", "FILE", "", "A card in JSON, in the place of the generated one"),
        row(List, "without", "CAPABILITY", "", "Turn off streaming, push or extended-card; repeatable"),
        row(List, "extension", "URI", "", "Declare an extension; repeatable"),
        row(List, "require-extension", "URI", "", "Declare an extension that clients must know; repeatable"),
        row(One, "turn-timeout", "DURATION", "none", "Fail a turn whose program takes longer"),
        row(One, "silence-timeout", "DURATION", "none", "Fail a turn whose program writes nothing for longer"),
        row(
            One,
            "program-grace",
            "DURATION",
            "1s",
            "How long a program may go on after it was told to stop; below two thirds of --cancel-grace",
        ),
        row(One, "max-processes", "N", "256", "Programs at the same time; a turn beyond waits for a place"),
        row(One, "max-line", "SIZE", "10M", "The longest line or piece of a program's output"),
        row(One, "max-output", "SIZE", "1G", "The output of one turn of a program"),
        row(One, "cancel-grace", "DURATION", "2s", "How long a turn may go on after a cancel"),
    ],
);

const ADDRESS: [Setting; 9] = headed(
    "Address",
    [
        row(One, "host", "HOST", "127.0.0.1", "The address to listen on"),
        row(One, "port", "PORT", "8080", "The port to listen on; 0 for one that is free"),
        Setting {
            aliases: &["advertise-address"],
            ..row(One, "public-url", "URL", "as the client calls it", "The address that the card gives")
        },
        row(
            Switch,
            "trust-forwarded",
            "",
            "",
            "Take the address from the headers of a proxy, which all callers come through",
        ),
        row(List, "cors-origin", "ORIGIN", "", "Let pages of this origin call, or * for any; repeatable"),
        row(
            List,
            "versions",
            "VERSION",
            "all that are built in",
            "Speak these versions of the protocol, 1.0,0.3 for example; repeatable",
        ),
        row(Switch, "lenient-version", "", "", "Take calls of version 1.0 that do not say which version they are"),
        row(
            One,
            "file-bytes",
            "FORM",
            "raw",
            "How the bytes of files are sent in 0.3 and 0.2 over gRPC and REST: raw, or base64 for clients on the Python SDK",
        ),
        row(One, "card-max-age", "DURATION", "5m", "How long clients may keep the card"),
    ],
);

const CALLERS: [Setting; 4] = headed(
    "Callers",
    [
        row(
            List,
            "token",
            "NAME=SECRET",
            "",
            "Let a caller in by a token; repeatable; others on this machine see flags, but not variables and files",
        ),
        row(Switch, "anonymous", "", "", "Let callers without a token in, too"),
        row(Switch, "allow-open", "", "", "Listen beyond this machine without tokens, behind something that asks"),
        row(Switch, "allow-private-webhooks", "", "", "Call webhooks at private addresses"),
    ],
);

const TASKS: [Setting; 11] = headed(
    "Tasks",
    [
        row(
            One,
            "store",
            "STORE",
            "sqlite:./nuncio.db",
            "Where tasks are kept: sqlite:PATH, postgres://USER@HOST/DATABASE or memory",
        ),
        row(
            One,
            "lease",
            "DURATION",
            "10s",
            "How long a node on a shared store may be silent before others take its tasks over",
        ),
        row(
            One,
            "bus",
            "BUS",
            "postgres with such a store, else none",
            "What wakes other nodes on the same store: nats://HOST[,HOST][/PREFIX], tls://..., postgres (that of the store) or none",
        ),
        row(
            One,
            "sqlite-synchronous",
            "WHEN",
            "normal",
            "When a commit is on the disk: full waits for it, normal does not",
        ),
        row(One, "store-cache", "SIZE", "64M", "Memory for recent tasks"),
        row(
            List,
            "retention",
            "RULE",
            "forever",
            "Delete tasks so long after their last status: completed=30d,failed=90d, or 30d for all that have ended; \
             TENANT/failed=1y for a tenant; repeatable",
        ),
        row(
            One,
            "log-retention",
            "DURATION",
            "10m",
            "How long the events of a task that has ended or waits can be resumed; in memory until the task ends by default",
        ),
        row(One, "interrupted-expiry", "DURATION", "none", "Fail a task that has waited for its client for longer"),
        row(One, "stall-timeout", "DURATION", "none", "Fail a task whose agent is at work and says nothing for longer"),
        row(Switch, "idempotent-cancel", "", "", "Canceling twice gives the task instead of an error"),
        row(
            One,
            "idempotency",
            "WINDOW",
            "off",
            "How long a message that is sent again is known by its id and gets the answer of the first; or off",
        ),
    ],
);

const LIMITS: [Setting; 28] = headed(
    "Limits",
    [
        row(One, "drain", "DURATION", "5s", "How long requests and turns may go on after a signal"),
        row(One, "max-body", "SIZE", "16M", "The size of a request; more is 413"),
        row(One, "body-timeout", "DURATION", "30s", "How long a request's body may take"),
        row(One, "head-timeout", "DURATION", "30s", "How long a request's head may take, and a connection be idle"),
        row(One, "max-head", "SIZE", "16K", "The size of a request's head; more is 431"),
        row(One, "max-requests", "N", "10000", "Requests at the same time; one more is 503"),
        row(One, "max-streams", "N", "20000", "Open streams; one more is 429"),
        row(One, "max-bytes", "SIZE", "512M", "Bytes of all requests at the same time; more is 503"),
        row(One, "max-connections", "N", "20000", "Open connections; more wait"),
        row(One, "keep-alive", "DURATION", "15s", "How long a stream is silent before it says so"),
        row(One, "max-turns", "N", "100000", "Turns at the same time; one more is refused"),
        row(One, "max-queued-messages", "N", "64", "Messages that wait behind a turn; one more is refused"),
        row(One, "max-queued", "N", "100000", "Messages that wait behind turns of all tasks; one more is refused"),
        row(One, "max-held-bytes", "SIZE", "1G", "What messages and tasks at work hold in memory; more is refused"),
        row(One, "max-kept-bytes", "SIZE", "256M", "Memory for readers that are behind; more is read from the store"),
        row(One, "max-task-size", "SIZE", "256M", "What a task carries; the agent's word beyond fails it"),
        row(One, "max-task-events", "N", "1000000", "Events of a task; the agent's word beyond fails it"),
        row(One, "max-webhooks", "N", "100", "Webhooks of one task"),
        row(One, "webhook-timeout", "DURATION", "15s", "How long one delivery may take"),
        row(One, "webhook-attempts", "N", "20", "Failures in a row after which a notification is given up"),
        row(One, "caller-requests", "N", "2500", "Requests of one caller at the same time; one more is 429"),
        row(One, "caller-bytes", "SIZE", "128M", "Bytes of one caller's requests at the same time; more is 429"),
        row(One, "caller-streams", "N", "5000", "Open streams of one caller; one more is 429"),
        row(One, "caller-turns", "N", "10000", "Turns of one caller at the same time; one more is refused"),
        row(One, "caller-queued", "N", "10000", "Messages of one caller that wait behind turns; one more is refused"),
        row(One, "caller-held-bytes", "SIZE", "256M", "What those of one caller hold in memory; more is refused"),
        row(One, "caller-rate", "N", "none", "Requests per second of one caller; one more is 429"),
        row(One, "caller-burst", "N", "as --caller-rate", "Requests that a caller may make at once"),
    ],
);

const REST: [Setting; 1] = headed("Output", [row(Switch, "quiet", "", "", "Log warnings only")]);

/// All of them, in the order of the help.
pub(super) const SETTINGS: &[&Setting] = &all();

const COUNT: usize = AGENT.len() + ADDRESS.len() + CALLERS.len() + TASKS.len() + LIMITS.len() + REST.len();

const fn all() -> [&'static Setting; COUNT] {
    const GROUPS: [&[Setting]; 6] = [&AGENT, &ADDRESS, &CALLERS, &TASKS, &LIMITS, &REST];
    let mut all = [&GROUPS[0][0]; COUNT];
    let (mut group, mut index, mut at) = (0, 0, 0);
    while at < COUNT {
        if index == GROUPS[group].len() {
            group += 1;
            index = 0;
        }
        all[at] = &GROUPS[group][index];
        index += 1;
        at += 1;
    }
    all
}

/// Those with which nothing could be done if they were 0. With others 0 is a limit like any other, or turns something off:
/// no message waits, no webhook, no cache, no grace.
const NOT_ZERO: &[&str] = &[
    "turn-timeout",
    "silence-timeout",
    "max-processes",
    "max-line",
    "max-output",
    "lease",
    "interrupted-expiry",
    "stall-timeout",
    "max-body",
    "body-timeout",
    "head-timeout",
    "max-head",
    "max-requests",
    "max-streams",
    "max-bytes",
    "max-connections",
    "keep-alive",
    "max-turns",
    "max-held-bytes",
    "max-task-size",
    "max-task-events",
    "webhook-timeout",
    "webhook-attempts",
    "caller-requests",
    "caller-bytes",
    "caller-streams",
    "caller-turns",
    "caller-held-bytes",
];

/// The variable of a setting.
pub(super) fn variable(name: &str) -> String {
    format!("NUNCIO_SERVE_{}", name.replace('-', "_").to_ascii_uppercase())
}

/// Whether the value of a setting may be an address with a password in it.
pub(super) fn is_address(name: &str) -> bool {
    matches!(name, "store" | "bus" | "public-url")
}

/// A variable with a slip in its name does nothing, so it is said.
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

/// What was set, and by what.
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
            if let Some(value) = std::env::var(&variable).ok().filter(|value| !value.is_empty()) {
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

    /// All values of a setting as they were given; `None` where it was not.
    pub(super) fn values(&self, name: &str) -> Option<&[String]> {
        self.set.get(name).map(|(values, _)| &**values)
    }

    /// The value of a setting, where it was given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.set.get(name)?.0.last().map(String::as_str)
    }

    /// The value of a setting as what it is of.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        parse(value).map(Some).map_err(|reason| self.wrong(name, &reason))
    }

    /// A value that cannot be, with where it is from.
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

    /// Fails with the first value that is not of its setting's sort, as the table has it.
    pub(super) fn check(&self) -> Result<(), CliError> {
        for setting in SETTINGS {
            match (setting.kind, setting.value) {
                (Kind::Switch, _) => {
                    self.switch(setting.name)?;
                }
                (Kind::One, "DURATION") => self.not_zero(setting, self.duration(setting.name)?)?,
                (Kind::One, "SIZE") => self.not_zero(setting, self.size(setting.name)?)?,
                (Kind::One, "N") => self.not_zero(setting, self.count(setting.name)?)?,
                (Kind::One, "PORT") => {
                    self.port()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn not_zero<T: Default + PartialEq>(&self, setting: &Setting, value: Option<T>) -> Result<(), CliError> {
        if !NOT_ZERO.contains(&setting.name) || value.is_none_or(|value| value != T::default()) {
            return Ok(());
        }
        let default = setting.default;
        Err(self
            .wrong(setting.name, "it must be more than 0")
            .with_hint(format!("leave it out for the default: {default}")))
    }

    /// Each setting as it holds.
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
                Effective { name: setting.name.to_owned(), value, source, is_secret }
            })
            .collect()
    }
}
