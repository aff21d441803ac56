//! Errors of HTTP+JSON: `{"error":{code,status,message,details}}` (section 11.6 "Error Handling"), and other forms that
//! peers send.

use http::StatusCode;
use nuncio_model::{Detail, Error, ErrorKind, Value};
use serde::Serialize;

use super::RouteError;
use crate::{dialect::RestDialect, json, status};

#[derive(Serialize)]
struct Body<'a> {
    error: StatusObject<'a>,
}

#[derive(Serialize)]
struct StatusObject<'a> {
    code: u16,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<status::DetailJson<'a>>,
}

/// The gRPC code for an operation that does not exist.
const UNIMPLEMENTED: i32 = 12;

/// Writes the body of an error in the form of a version. Before the version is known, use
/// [`Version::LATEST`](crate::Version::LATEST).
pub fn write_error(dialect: &dyn RestDialect, error: &Error) -> (StatusCode, Vec<u8>) {
    let mut body = Vec::with_capacity(256);
    let status = dialect.encode_error(error, None, &mut body);
    (status, body)
}

/// Writes the body of an error with an HTTP status that is more exact than the status of the error's kind.
pub fn write_error_as(dialect: &dyn RestDialect, status: StatusCode, error: &Error) -> (StatusCode, Vec<u8>) {
    let mut body = Vec::with_capacity(256);
    let status = dialect.encode_error(error, Some(status), &mut body);
    (status, body)
}

/// Writes the body of the answer to a request without an operation. The `Allow` header is [`RouteError::allow`].
pub fn write_refusal(dialect: &dyn RestDialect, refusal: &RouteError) -> (StatusCode, Vec<u8>) {
    let mut body = Vec::with_capacity(256);
    let status = dialect.encode_error(&refusal.to_error(), Some(refusal.status()), &mut body);
    (status, body)
}

/// Writes the body of an error in the form of 1.0. `status` replaces the status of the error's kind if HTTP has a more
/// exact one.
pub(crate) fn encode_error(error: &Error, status: Option<StatusCode>, to: &mut Vec<u8>) -> StatusCode {
    let row = status::row(error.kind());
    let code = status.or_else(|| StatusCode::from_u16(row.http).ok()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let details = status::details(error);
    let details = details.iter().map(status::DetailJson).collect();
    // A wrong verb has its own HTTP status, so the name of the status also differs.
    let name = status::grpc_name(if code == StatusCode::METHOD_NOT_ALLOWED { UNIMPLEMENTED } else { row.grpc });
    json::write(
        &Body { error: StatusObject { code: code.as_u16(), status: name, message: error.message(), details } },
        to,
    );
    code
}

/// Reads an answer that is not 2xx, from an agent or from a proxy.
///
/// The kind of the error comes from the reason, else from the name of the status, else from the HTTP status. The
/// function reads the form of 1.0, bare messages of 0.3, `application/problem+json` of drafts (the examples of section
/// 6 have this form; section 11.6 "Error Handling" has the form of 1.0), and any text.
pub fn parse_error(status: StatusCode, body: &[u8]) -> Error {
    let by_http = status::kind_of_http(status.as_u16());
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(mut members)) => match members.remove("error") {
            Some(Value::Object(error)) => from_members(by_http, status, error),
            Some(Value::String(error)) => {
                let message = string(&members, "error_description").unwrap_or(error);
                status::from_peer(by_http, message, Vec::new())
            }
            _ => from_members(by_http, status, members),
        },
        _ => status::from_peer(by_http, from_text(status, body), Vec::new()),
    }
}

type ErrorMembers = serde_json::Map<String, Value>;

fn from_members(by_http: ErrorKind, status: StatusCode, mut members: ErrorMembers) -> Error {
    let details = match members.remove("details").or_else(|| members.remove("data")) {
        Some(Value::Array(details)) => details.into_iter().map(status::detail_from_json).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(other) => vec![Detail::Other(other)],
    };
    let by_name = string(&members, "status").and_then(|name| status::grpc_code(&name)).map(status::kind_of_grpc);
    let is_outranked = status::outranks_code(status.as_u16());
    let code = members.get("code").and_then(Value::as_i64).filter(|code| *code < 0 && !is_outranked);
    let by_code = code.and_then(status::kind_of_jsonrpc);
    let by_type = string(&members, "type").and_then(|url| kind_of_type(&url));
    let message = ["message", "detail", "title"].iter().find_map(|name| string(&members, name));
    let message = message.or_else(|| members.get("detail").and_then(problems));
    // The Python SDK of 0.3 sends only a message.
    let by_message = message
        .as_deref()
        .and_then(|message| status::named::kind_of_message(message).or_else(|| kind_of_missing(by_http, message)));
    let message = message.unwrap_or_else(|| from_text(status, b""));
    status::from_peer(by_type.or(by_code).or(by_name).or(by_message).unwrap_or(by_http), message, details)
}

/// The message of FastAPI for an invalid request: `[{"loc":["body","message"],"msg":"field required"}]`.
fn problems(detail: &Value) -> Option<String> {
    const ENOUGH: usize = 8;
    let problem = |problem: &Value| {
        let message = problem.get("msg").and_then(Value::as_str)?;
        let segments = problem.get("loc").and_then(Value::as_array).into_iter().flatten();
        let segment = |segment: &Value| segment.as_str().map_or_else(|| segment.to_string(), str::to_owned);
        let place = segments.map(segment).collect::<Vec<_>>().join(".");
        Some(if place.is_empty() { message.to_owned() } else { format!("{place}: {message}") })
    };
    match detail {
        Value::Array(problems) => {
            let lines: Vec<_> = problems.iter().take(ENOUGH).filter_map(problem).collect();
            (!lines.is_empty()).then(|| lines.join("; "))
        }
        Value::Object(_) => Some(detail.to_string()),
        _ => None,
    }
}

/// The kind of a 404 with a message that names a task. SDKs of 0.3 send `Task 7 was specified but does not exist`
/// without a reason.
fn kind_of_missing(by_http: ErrorKind, message: &str) -> Option<ErrorKind> {
    let message = message.to_ascii_lowercase();
    let is_task = message.starts_with("task ") || message.contains(" task ");
    let is_missing = ["not found", "not exist", "unknown task", "no such task"].iter().any(|it| message.contains(it));
    (by_http == ErrorKind::MethodNotFound && is_task && is_missing).then_some(ErrorKind::TaskNotFound)
}

fn string(members: &ErrorMembers, name: &str) -> Option<String> {
    members.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The kind of a problem type such as `https://a2a-protocol.org/errors/task-not-found`.
fn kind_of_type(url: &str) -> Option<ErrorKind> {
    let name = url.rsplit('/').next()?.to_ascii_uppercase().replace('-', "_");
    status::kind_of_reason(name.strip_suffix("_ERROR").unwrap_or(&name))
}

/// A message for an answer that is not JSON or has no message.
fn from_text(status: StatusCode, body: &[u8]) -> String {
    const ENOUGH: usize = 200;
    let text: String = String::from_utf8_lossy(&body[..body.len().min(4 * ENOUGH)]).chars().take(ENOUGH).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = status.canonical_reason().unwrap_or("an error");
    let code = status.as_u16();
    if text.is_empty() {
        format!("the agent answered {code} {reason}")
    } else {
        format!("the agent answered {code} {reason}: {text}")
    }
}
