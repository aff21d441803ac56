//! Logs the messages on the wire, for the target `nuncio_client::wire`, without secrets.

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use nuncio_http::redact::Redactor;
use tracing::{Level, debug, enabled};
use url::Url;

use super::answer::Answer;

/// Whether messages are logged.
pub(crate) fn is_on() -> bool {
    enabled!(target: "nuncio_client::wire", Level::DEBUG)
}

/// Logs a message of protobuf in the form of JSON.
pub(crate) fn protobuf(direction: char, json: &[u8], redactor: &Redactor) {
    debug!(target: TARGET, "{direction} {}", redactor.body(json));
}

const TARGET: &str = "nuncio_client::wire";

/// The largest logged part of a body in bytes.
const ENOUGH: usize = 64 * 1024;

pub(super) fn request(
    method: &Method,
    url: &Url,
    headers: &HeaderMap,
    body: &Bytes,
    redactor: &Redactor,
    is_binary: bool,
) {
    if !is_on() {
        return;
    }
    let url = redactor.text(url.as_str());
    let headers = redactor.headers(headers);
    let body = shown(body, is_binary, redactor);
    debug!(target: TARGET, "> {method} {url}\n{headers}\n\n{body}");
}

pub(super) fn answer(answer: &Answer) {
    if !is_on() {
        return;
    }
    let headers = answer.redactor.headers(&answer.headers);
    debug!(target: TARGET, "< {} {}\n{headers}", answer.origin, answer.status);
}

pub(super) fn piece(data: &Bytes, headers: &HeaderMap, redactor: &Redactor) {
    if !is_on() {
        return;
    }
    let media_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |it| it.as_bytes());
    debug!(target: TARGET, "< {}", shown(data, media_type.starts_with(b"application/grpc"), redactor));
}

fn shown(body: &Bytes, is_binary: bool, redactor: &Redactor) -> String {
    if is_binary {
        return format!("{} bytes of protobuf", body.len());
    }
    let mut text = redactor.body(body);
    if text.len() > ENOUGH {
        text.truncate(text.floor_char_boundary(ENOUGH));
        text.push_str(" …");
    }
    text
}
