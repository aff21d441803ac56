//! Errors that an agent answered with.

use nuncio_client::PeerCode;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::status;

use super::{CliError, Code};

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let code = code(&error);
        let a2a_code = PeerCode::of(&error).map(PeerCode::number);
        let message = if error.message().is_empty() { code.name().to_owned() } else { error.message().to_owned() };
        Self {
            code,
            message,
            hint: stored(&error).or_else(|| later(&error)).or_else(|| hint(&error).map(str::to_owned)),
            a2a_code,
        }
    }
}

fn code(error: &Error) -> Code {
    use ErrorKind as Kind;
    match error.kind() {
        Kind::TaskNotFound => Code::Agent("TaskNotFoundError"),
        Kind::TaskNotCancelable => Code::Agent("TaskNotCancelableError"),
        Kind::PushNotificationNotSupported => Code::Agent("PushNotificationNotSupportedError"),
        Kind::UnsupportedOperation => Code::Agent("UnsupportedOperationError"),
        Kind::ContentTypeNotSupported => Code::Agent("ContentTypeNotSupportedError"),
        Kind::InvalidAgentResponse => Code::Agent("InvalidAgentResponseError"),
        Kind::ExtendedAgentCardNotConfigured => Code::Agent("ExtendedAgentCardNotConfiguredError"),
        Kind::ExtensionSupportRequired => Code::Agent("ExtensionSupportRequiredError"),
        Kind::VersionNotSupported => Code::Agent("VersionNotSupportedError"),
        Kind::Parse => Code::Agent("JSONParseError"),
        Kind::InvalidRequest | Kind::PayloadTooLarge | Kind::HeadTooLarge | Kind::MisdirectedRequest => {
            Code::Agent("InvalidRequestError")
        }
        Kind::MethodNotFound => Code::Agent("MethodNotFoundError"),
        Kind::InvalidParams => Code::Agent("InvalidParamsError"),
        Kind::Unauthenticated | Kind::PermissionDenied => Code::AuthFailed,
        Kind::Unavailable | Kind::ResourceExhausted => Code::Unreachable,
        Kind::DeadlineExceeded => Code::Timeout,
        Kind::Internal if is_numbered_so(error) => Code::Agent("InternalError"),
        // The protocol has no name for this error.
        _ => Code::Internal,
    }
}

/// Whether the number of the peer belongs to the kind of the error.
fn is_numbered_so(error: &Error) -> bool {
    let row = status::row(error.kind());
    match PeerCode::of(error) {
        Some(PeerCode::JsonRpc(code)) => code == i64::from(row.jsonrpc),
        Some(PeerCode::Http(status)) => status == row.http,
        Some(PeerCode::Grpc(code)) => code == row.grpc,
        _ => false,
    }
}

/// The remedy if the connection broke after the agent got the task: do not send the message again.
fn stored(error: &Error) -> Option<String> {
    let id = error.metadata().get("taskId").filter(|_| error.kind() == ErrorKind::Unavailable)?;
    Some(format!("`nuncio task get --wait {id}` reads it when the agent is back"))
}

/// When to try again, where the peer said that.
fn later(error: &Error) -> Option<String> {
    let seconds = error.retry_after()?.as_secs_f64().ceil();
    let is_about_load = matches!(error.kind(), ErrorKind::ResourceExhausted | ErrorKind::Unavailable);
    is_about_load.then(|| format!("try again in {seconds} s, as the agent says"))
}

fn hint(error: &Error) -> Option<&'static str> {
    use ErrorKind as Kind;
    // The error has an HTTP status, and no code of JSON-RPC or gRPC.
    let is_refused = matches!(PeerCode::of(error), Some(PeerCode::Http(_)));
    Some(match error.kind() {
        Kind::TaskNotFound => "check the task's id and the agent; --debug shows what was sent",
        Kind::TaskNotCancelable => "the task has ended; `nuncio task get` shows how",
        Kind::PushNotificationNotSupported => "the agent sends no notifications; poll with `nuncio task get --wait`",
        // The client refused the call: the version in use cannot express it.
        Kind::UnsupportedOperation if PeerCode::of(error).is_none() => {
            "`nuncio card get` shows the versions of the agent; choose one with --a2a-version"
        }
        Kind::UnsupportedOperation => "the agent does not do that, or not in this state; --debug shows what was sent",
        Kind::ContentTypeNotSupported => "`nuncio card get` shows the media types that the agent takes",
        Kind::InvalidAgentResponse if is_refused => {
            "is this an A2A endpoint? `nuncio card get` shows those of an agent; --debug shows what was answered"
        }
        Kind::MethodNotFound if is_refused => {
            "is this an A2A endpoint of that transport and version? `nuncio card get` shows those of an agent"
        }
        // Bytes are sent as they are.
        Kind::PayloadTooLarge if matches!(PeerCode::of(error), Some(PeerCode::Grpc(_))) => {
            "the server's limit is its --max-body; send less, or a file by its URL"
        }
        Kind::PayloadTooLarge => {
            "the server's limit is its --max-body; a file is sent as base64, which makes it a third larger"
        }
        Kind::HeadTooLarge => "the server's limit is its --max-head; ids, tokens and --svc-param go into the head",
        Kind::MisdirectedRequest => {
            "call the agent by a name that it answers for; `nuncio serve --allowed-host` adds names"
        }
        Kind::InvalidAgentResponse => "--debug shows what the agent answered",
        Kind::ExtensionSupportRequired => "`nuncio card get` shows the extensions; declare them with --extension",
        Kind::VersionNotSupported => "`nuncio card get` shows the versions; choose one with --a2a-version",
        Kind::MethodNotFound => {
            "the agent may speak another version: see `nuncio card get`, and choose one with --a2a-version"
        }
        Kind::InvalidRequest | Kind::InvalidParams | Kind::Parse => "--debug shows what was sent",
        Kind::PermissionDenied => "the credentials are known, but may not do this",
        Kind::Unauthenticated => "check --bearer or --api-key (A2ACLI_BEARER, A2ACLI_API_KEY)",
        Kind::ResourceExhausted | Kind::Unavailable if error.message().contains("try again") => return None,
        Kind::ResourceExhausted | Kind::Unavailable => "try again later",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn when_to_try_again_is_said_once() {
        let busy = |message: &str| Error::new(ErrorKind::ResourceExhausted, message);
        let hint = |error: Error| CliError::from(error).hint;
        let told = hint(busy("too many; try again later").with_retry_after(Duration::from_millis(2500)));
        assert_eq!(told.as_deref(), Some("try again in 3 s, as the agent says"));
        assert_eq!(hint(busy("too many; try again later")), None);
        assert_eq!(hint(busy("too many")).as_deref(), Some("try again later"));
    }

    #[test]
    fn what_is_stored_is_to_be_read_and_not_sent_again() {
        let error =
            Error::new(ErrorKind::Unavailable, "the server is stopping; task t is stored").with_metadata("taskId", "t");
        let hint = CliError::from(error.with_retry_after(Duration::from_secs(1))).hint;
        assert_eq!(hint.as_deref(), Some("`nuncio task get --wait t` reads it when the agent is back"));
    }
}
