//! The settings that the environment and files may have.

use nuncio_client::{AgentRef, Binding, Client, ClientBuilder};

use crate::{
    args::{duration, file_bytes, history_length, key_value, metadata, secret, switch},
    context::{format_of, items},
    style::color_of,
};

/// A flag that is a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientSetting {
    /// The long flag.
    pub(crate) name: &'static str,
    /// The default.
    pub(crate) default: &'static str,
    /// Whether its value is to be hidden.
    pub(crate) is_secret: bool,
    /// The reason why a value is wrong for this setting.
    pub(crate) check: Check,
}

type Check = fn(&str) -> Result<(), String>;

/// Any text can be one.
const ANY: Check = |_| Ok(());

const fn setting(name: &'static str, default: &'static str, check: Check) -> ClientSetting {
    ClientSetting { name, default, is_secret: false, check }
}

const fn hidden(name: &'static str, check: Check) -> ClientSetting {
    ClientSetting { name, default: "", is_secret: true, check }
}

/// All of them. `--stream`, `--help` and `--version` are flags only.
pub(crate) const SETTINGS: &[ClientSetting] = &[
    setting("agent-card", "", |text| words(text.parse::<AgentRef>())),
    setting("endpoint", "", ANY),
    setting("transport", "as the card has them", |text| items(text).try_for_each(|it| words(it.parse::<Binding>()))),
    setting("a2a-version", "the newest that both speak", ANY),
    setting("file-bytes", "raw", |text| words(file_bytes(text))),
    hidden("bearer", |text| words(secret(text))),
    hidden("api-key", |text| words(secret(text))),
    hidden("auth", |text| words(secret(text))),
    hidden("svc-param", |text| words(key_value(text))),
    setting("trust-origin", "", origins),
    setting("card-auth", "false", is_switch),
    setting("extension", "", ANY),
    setting("tenant", "the one in the card", ANY),
    setting("insecure", "false", is_switch),
    setting("context-id", "", ANY),
    setting("task-id", "", ANY),
    setting("metadata", "", |text| words(metadata(text))),
    setting("history", "all", |text| words(history_length(text))),
    setting("async", "false", is_switch),
    setting("wait", "true for send, false for task get", is_switch),
    setting("poll-interval", "2s", |text| words(duration(text))),
    setting("idle-timeout", "60s", |text| words(duration(text))),
    setting("timeout", "never", |text| words(duration(text))),
    setting("output", "text", |text| words(format_of(text))),
    setting("color", "auto", |text| words(color_of(text))),
    setting("verbose", "false", is_switch),
    setting("debug", "false", is_switch),
];

/// Only the result of the parser counts.
fn words<T>(read: Result<T, impl ToString>) -> Result<(), String> {
    read.map(drop).map_err(|error| error.to_string())
}

fn is_switch(text: &str) -> Result<(), String> {
    words(switch(text))
}

/// What is no origin is told when a client is made.
fn origins(text: &str) -> Result<(), String> {
    let builder = items(text).fold(Client::builder(), ClientBuilder::trust_origin);
    words(builder.endpoint("http://localhost", Binding::JsonRpc))
}

/// The environment variable of a flag.
pub(crate) fn variable(flag: &str) -> String {
    format!("A2ACLI_{}", flag.replace('-', "_").to_ascii_uppercase())
}
