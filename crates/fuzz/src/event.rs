//! Events of a stream, and the bodies of webhooks.

use nuncio_model::{StreamEvent, StreamResponse};
use nuncio_wire::{Events, Version, dialect, dialect::Notice};

use crate::check;

/// An event in JSON, read in each version and binding.
pub(crate) fn json(input: &[u8]) {
    for version in Version::ALL {
        let dialect = dialect(*version);
        read("an event of JSON-RPC", *version, dialect.jsonrpc(), input);
        if let Some(rest) = dialect.rest() {
            read("an event of HTTP+JSON", *version, rest, input);
        }
    }
}

/// Checks the result of reading an event: the event, or the refusal.
pub(crate) fn read(what: &str, version: Version, events: &(impl Events + ?Sized), bytes: &[u8]) {
    let event = match events.decode_event(bytes) {
        Ok(event) => event,
        Err(error) => return check::refused_answer(&error),
    };
    let write = |event: &StreamResponse| {
        let mut to = Vec::new();
        events.encode_event(event, &mut to);
        Ok(to)
    };
    let decode = |bytes: &[u8]| events.decode_event(bytes);
    check::settles(what, version, (event.clone(), decode(bytes)), write, decode);
    written_in_all(&event);
}

/// Writes an event in all versions and bindings. Each result must be readable, and the same for one reader and for many
/// readers.
pub(crate) fn written_in_all(event: &StreamResponse) {
    let shared = StreamEvent::new(None, event.clone());
    for version in Version::ALL {
        let dialect = dialect(*version);
        written(&format!("JSON-RPC {version}"), dialect.jsonrpc(), &shared);
        if let Some(rest) = dialect.rest() {
            written(&format!("HTTP+JSON {version}"), rest, &shared);
        }
        if let Some(grpc) = dialect.grpc() {
            written(&format!("gRPC {version}"), grpc, &shared);
        }
        let mut notice = Vec::new();
        dialect.encode_notice(event, &mut notice);
        if dialect.notice(event) != Notice::Nothing {
            let notice_json: Result<serde_json::Value, _> = serde_json::from_slice(&notice);
            assert!(
                notice_json.is_ok_and(|json| json.is_object()),
                "{version} sends to webhooks {}",
                check::shown(&notice)
            );
        }
    }
}

fn written(what: &str, events: &(impl Events + ?Sized), event: &StreamEvent) {
    let mut to = Vec::new();
    events.encode_event(&event.response, &mut to);
    assert_eq!(check::shown(events.shared_event(event)), check::shown(&to), "{what} has another slot");
    if let Err(error) = events.decode_event(&to) {
        panic!("{what} cannot read what it writes: {error:?}\n{}", check::shown(&to));
    }
}
