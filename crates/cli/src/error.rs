//! How a command fails: a code, words for people, an exit code (cli specification, sections 8 and 9).

mod agent;
mod client;
mod hint;

use std::fmt;

use serde::Serialize;
use url::Url;

/// A failure, on its way to stdout or stderr.
#[derive(Debug, Clone)]
pub(crate) struct CliError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The code in the binding: a JSON-RPC code, an HTTP status, a gRPC code.
    pub(crate) a2a_code: Option<i64>,
}

/// The kind of a failure: a code of this program, or the name of the agent's error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Wrong arguments.
    Usage,
    /// The reference leads to no card.
    CardNotFound,
    /// The document is not a card.
    CardInvalid,
    /// No connection.
    Unreachable,
    /// The agent wants credentials and none were given.
    CredentialsMissing,
    /// The credentials were refused.
    AuthFailed,
    /// Out of time.
    Timeout,
    /// Anything else on our side.
    Internal,
    /// An error of the protocol, by its name.
    Agent(&'static str),
}

impl Code {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Usage => "A2ACLI_ERR_USAGE",
            Self::CardNotFound => "A2ACLI_ERR_CARD_NOT_FOUND",
            Self::CardInvalid => "A2ACLI_ERR_CARD_INVALID",
            Self::Unreachable => "A2ACLI_ERR_UNREACHABLE",
            Self::CredentialsMissing => "A2ACLI_ERR_CREDENTIALS_MISSING",
            Self::AuthFailed => "A2ACLI_ERR_AUTH_FAILED",
            Self::Timeout => "A2ACLI_ERR_TIMEOUT",
            Self::Internal => "A2ACLI_ERR_INTERNAL",
            Self::Agent(name) => name,
        }
    }

    pub(crate) const fn exit(self) -> u8 {
        match self {
            Self::CardInvalid | Self::Internal | Self::Agent(_) => 1,
            Self::Usage => 2,
            Self::CardNotFound | Self::Unreachable => 3,
            Self::CredentialsMissing | Self::AuthFailed => 4,
            Self::Timeout => 5,
        }
    }
}

impl CliError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, a2a_code: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(Code::Internal, message.to_string())
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Corrects the hint: not the command that just failed, and TLS if the port expects TLS.
    pub(crate) async fn with_last_hint(self, place: Option<Url>) -> Self {
        hint::last(self, place).await
    }

    /// The envelope of section 8.
    pub(crate) fn envelope(&self, redact: impl Fn(&str) -> String) -> Envelope {
        Envelope {
            error: Body {
                code: self.code.name(),
                message: redact(&self.message),
                hint: self.hint.as_deref().map(redact),
                a2a_code: self.a2a_code,
            },
        }
    }
}

/// A failure as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Envelope {
    error: Body,
}

#[derive(Debug, Serialize)]
struct Body {
    code: &'static str,
    message: String,
    hint: Option<String>,
    #[serde(rename = "a2aCode")]
    a2a_code: Option<i64>,
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

/// Writing to stdout failed.
impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(format!("cannot write the result: {error}"))
            .with_hint("look where stdout goes: a full disk, or a file that cannot be written")
    }
}
