//! The settings that the environment and files may have.

/// A flag that is a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The long flag.
    pub(crate) name: &'static str,
    /// What holds without it.
    pub(crate) default: &'static str,
    /// Whether its value is to be hidden.
    pub(crate) is_secret: bool,
}

const fn setting(name: &'static str, default: &'static str) -> Setting {
    Setting { name, default, is_secret: false }
}

const fn secret(name: &'static str) -> Setting {
    Setting { name, default: "", is_secret: true }
}

/// All of them. `--stream`, `--help` and `--version` are flags only.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("agent-card", ""),
    setting("endpoint", ""),
    setting("transport", "as the card has them"),
    setting("a2a-version", "the newest that both speak"),
    setting("file-bytes", "raw"),
    secret("bearer"),
    secret("api-key"),
    secret("auth"),
    secret("svc-param"),
    setting("trust-origin", ""),
    setting("card-auth", "false"),
    setting("extension", ""),
    setting("tenant", "the one in the card"),
    setting("insecure", "false"),
    setting("context-id", ""),
    setting("task-id", ""),
    setting("metadata", ""),
    setting("history", "all"),
    setting("async", "false"),
    setting("wait", "true for send, false for task get"),
    setting("poll-interval", "2s"),
    setting("timeout", "never"),
    setting("output", "text"),
    setting("verbose", "false"),
    setting("debug", "false"),
];

/// The environment variable of a flag.
pub(crate) fn variable(flag: &str) -> String {
    format!("A2ACLI_{}", flag.replace('-', "_").to_ascii_uppercase())
}
