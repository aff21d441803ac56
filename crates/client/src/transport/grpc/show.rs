//! Logs messages of protobuf in the form of JSON.

use nuncio_http::redact::Redactor;
use nuncio_model::{Call, Method, Reply, StreamResponse};
use nuncio_wire::{Version, dialect};

use crate::http::log;

pub(super) fn call(call: &Call, redactor: &Redactor) {
    if log::is_on()
        && let Ok(json) = dialect(Version::LATEST).jsonrpc().encode_call(call)
    {
        log::protobuf('>', json.get().as_bytes(), redactor);
    }
}

pub(super) fn reply(method: Method, reply: &Reply, redactor: &Redactor) {
    let mut json = Vec::new();
    if log::is_on() && dialect(Version::LATEST).jsonrpc().encode_reply(method, reply, &mut json).is_ok() {
        log::protobuf('<', &json, redactor);
    }
}

pub(super) fn event(event: &StreamResponse, redactor: &Redactor) {
    if log::is_on() {
        let mut json = Vec::new();
        dialect(Version::LATEST).jsonrpc().encode_event(event, &mut json);
        log::protobuf('<', &json, redactor);
    }
}
