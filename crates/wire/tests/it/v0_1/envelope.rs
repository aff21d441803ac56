//! The parts of the envelope that requests of 0.1 can omit, and requests of other versions cannot.

use nuncio_wire::jsonrpc::{Id, parse_request};
use serde_json::json;

#[test]
fn a_request_without_an_envelope_is_answered() {
    for body in [
        json!({"method": "tasks/send", "params": {}}),
        json!({"jsonrpc": null, "id": null, "method": "tasks/sendSubscribe", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "tasks/send", "params": {}}),
        json!({"method": "tasks/get", "params": {}}),
    ] {
        let body = body.to_string();
        let incoming = parse_request(body.as_bytes()).unwrap();
        assert_eq!(incoming.id, Some(Id::NULL), "{body}");
    }
    let with_id = br#"{"id": 7, "method": "tasks/send"}"#;
    assert_eq!(parse_request(with_id).unwrap().id, Some(Id::from(7)));
}

#[test]
fn other_versions_require_their_envelope() {
    for body in [
        r#"{"id": 1, "method": "SendMessage"}"#,
        r#"{"id": 1, "method": "message/send"}"#,
        r#"{"id": 1, "method": "nonsense"}"#,
        r#"{"jsonrpc": "1.0", "id": 1, "method": "tasks/send"}"#,
        r#"{"jsonrpc": 2.0, "id": 1, "method": "tasks/send"}"#,
    ] {
        let (id, error) = parse_request(body.as_bytes()).unwrap_err();
        assert_eq!(id, Id::from(1), "{body}");
        assert!(error.message().contains("jsonrpc"), "{body}: {error}");
    }
    let notification = br#"{"jsonrpc": "2.0", "method": "SendMessage"}"#;
    assert_eq!(parse_request(notification).unwrap().id, None);
}
