//! The messages as they go over the wire, for the target `nuncio_client::wire`; without secrets.

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use tracing::{Level, debug, enabled};
use url::Url;

use super::answer::Answer;
use crate::redact::Redactor;

const TARGET: &str = "nuncio_client::wire";

/// How much of a body is shown.
const ENOUGH: usize = 64 * 1024;

pub(super) fn request(
    method: &Method,
    url: &Url,
    headers: &HeaderMap,
    body: &Bytes,
    redactor: &Redactor,
    is_binary: bool,
) {
    if !enabled!(target: "nuncio_client::wire", Level::DEBUG) {
        return;
    }
    let url = redactor.text(url.as_str());
    let headers = redactor.headers(headers);
    let body = shown(body, is_binary, redactor);
    debug!(target: TARGET, "> {method} {url}\n{headers}\n\n{body}");
}

pub(super) fn answer(answer: &Answer) {
    if !enabled!(target: "nuncio_client::wire", Level::DEBUG) {
        return;
    }
    let headers = answer.redactor.headers(&answer.headers);
    debug!(target: TARGET, "< {} {}\n{headers}", answer.origin, answer.status);
}

pub(super) fn piece(data: &Bytes, headers: &HeaderMap, redactor: &Redactor) {
    if !enabled!(target: "nuncio_client::wire", Level::DEBUG) {
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
