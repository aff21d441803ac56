//! Failures before or outside a request.

use nuncio_auth::credentials::CredentialError;
use nuncio_client::{Binding, ClientError, Failure};
use url::Url;

use super::{CliError, Code};

/// How the address is written, with the transport that was asked for.
fn absolute(url: &str, binding: &str) -> String {
    let transport = match binding.parse() {
        Ok(Binding::Grpc) => "grpc",
        Ok(Binding::HttpJson) => "rest",
        _ => "jsonrpc",
    };
    let with_scheme = Url::parse(&format!("http://{}", url.trim())).ok();
    let is_host = |it: &Url| it.has_host() && it.username().is_empty() && it.password().is_none();
    let example = match with_scheme.filter(|it| !url.contains("://") && !url.starts_with('/') && is_host(it)) {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => "http://localhost:8080".to_owned(),
    };
    format!("give an absolute URL: -e {example} --transport {transport}")
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Agent(error) => error.into(),
            ClientError::Transport(failure) => failure.into(),
            ClientError::Reference(_) => {
                Self::usage(message).with_hint("name an agent by a host, a URL or a file: -a localhost:8080")
            }
            ClientError::Address { url, binding, .. } => Self::usage(message).with_hint(absolute(&url, &binding)),
            ClientError::Origin(_) => Self::usage(message)
                .with_hint("--trust-origin takes https://agents.example, or host:port as a card names gRPC"),
            ClientError::CardNotFound(missing) if missing.is_file() => Self::new(Code::CardNotFound, message)
                .with_hint("name a file that is there, or an agent by a host or a URL: localhost:8080"),
            ClientError::CardNotFound(missing) if missing.wants_credentials => Self::new(Code::AuthFailed, message),
            ClientError::CardNotFound(_) => Self::new(Code::CardNotFound, message)
                .with_hint("check the address, or call an endpoint without a card: -e URL --transport NAME"),
            ClientError::CardInvalid { .. } => {
                Self::new(Code::CardInvalid, message).with_hint("`nuncio card get --validate` shows what is wrong")
            }
            ClientError::NoInterface { pinned, is_for_version, .. } => {
                // The name of the same error in the protocol, for errors of a server.
                let code = if is_for_version { Code::Agent("VersionNotSupportedError") } else { Code::CardInvalid };
                Self::new(code, message).with_hint(match pinned {
                    Some(version) => format!(
                        "to speak it all the same, say where: -e URL --transport jsonrpc --a2a-version {version}"
                    ),
                    None => "an address that speaks one of these is called without the card: -e URL --transport NAME"
                        .to_owned(),
                })
            }
            _ => Self::new(Code::Usage, message),
        }
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        match failure {
            Failure::Unreachable { .. } => {
                Self::new(Code::Unreachable, message).with_hint("check that the agent runs and the address is right")
            }
            Failure::Tls { origin, reason, .. } => {
                Self::new(Code::Unreachable, message).with_hint(if reason.contains("does not speak TLS") {
                    format!("for an agent without TLS say {}", origin.replacen("https:", "http:", 1))
                } else {
                    "SSL_CERT_FILE names authorities to trust; --insecure takes any certificate".to_owned()
                })
            }
            Failure::Empty { .. } => Self::new(Code::Agent("InvalidAgentResponseError"), message).with_hint(
                "the agent may not stream, although its card says so; --async sends the message without a stream, and \
                 `nuncio task get --wait` gives what comes of it",
            ),
            Failure::TimedOut { .. } => Self::new(Code::Timeout, message),
            Failure::Broken { .. } => Self::new(Code::Unreachable, message)
                .with_hint("whether the agent heard it is not known; `nuncio task list` shows its tasks"),
            Failure::Credentials(CredentialError::BadSecret(_)) => Self::usage(message)
                .with_hint("`nuncio card get` shows where the agent wants it; check --bearer or --api-key"),
            Failure::Credentials(_) => Self::new(Code::CredentialsMissing, message)
                .with_hint("`nuncio card get` shows what the agent wants; give --bearer or --api-key"),
            _ => Self::new(Code::Internal, message),
        }
    }
}
