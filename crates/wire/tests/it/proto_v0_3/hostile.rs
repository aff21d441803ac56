//! Malicious and invalid bytes and bodies.

use http::Method as Verb;
use nuncio_model::{Call, ErrorKind, Message, Method, Part, op::SendMessageRequest};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};

use super::{grpc, message, over_grpc, request, rest};
use crate::proto::oracle;

fn send(bytes: &[u8]) -> Result<Call, (ErrorKind, Vec<String>, String)> {
    grpc().decode_call(Method::SendMessage, bytes).map_err(|error| {
        let fields = error.field_violations().iter().map(|it| it.field.clone()).collect();
        (error.kind(), fields, error.message().to_owned())
    })
}

fn request_bytes(json: &Value) -> Vec<u8> {
    oracle::from_json(&message("SendMessageRequest"), json).encode_to_vec()
}

#[test]
fn a_part_without_content_is_named() {
    let json = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "a"}, {}]}});
    let (kind, fields, message) = send(&request_bytes(&json)).unwrap_err();
    assert_eq!((kind, &*fields), (ErrorKind::InvalidParams, &["message.content[1]".to_owned()][..]));
    assert!(message.contains("needs one of text, file and data"), "{message}");
}

#[test]
fn invalid_protobuf_is_a_parse_error() {
    for bytes in [
        &b"{\"message\":{}}"[..],
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x00\x01",
        b"\x07",
        // { message: 1 }, { message: { message_id: 1 } }, { message: { message_id: invalid UTF-8 } }
        b"\x08\x01",
        b"\x0a\x02\x08\x01",
        b"\x0a\x04\x0a\x02\xff\xfe",
    ] {
        let (kind, _, message) = send(bytes).unwrap_err();
        assert_eq!(kind, ErrorKind::Parse, "{bytes:x?}: {message}");
    }
    let whole = request_bytes(&json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "a"}]}}));
    for end in 1..whole.len() {
        assert!(send(&whole[..end]).is_err(), "{end}");
    }
}

#[test]
fn missing_fields_and_invalid_names_are_reported() {
    let (_, fields, _) = send(b"").unwrap_err();
    assert_eq!(fields, ["message"]);
    for (method, bytes, field) in [
        (Method::GetTask, &b""[..], "name"),
        (Method::GetTask, b"\x0a\x01t", "name"),
        (Method::CancelTask, b"\x0a\x06tasks/", "name"),
        (Method::SubscribeToTask, b"", "name"),
        (Method::CreateTaskPushNotificationConfig, b"", "parent"),
        (Method::GetTaskPushNotificationConfig, b"", "name"),
        (Method::ListTaskPushNotificationConfigs, b"", "parent"),
        (Method::DeleteTaskPushNotificationConfig, b"\x0a\x07tasks/t", "name"),
    ] {
        let error = grpc().decode_call(method, bytes).unwrap_err();
        assert_eq!(
            (error.kind(), &*error.field_violations()[0].field),
            (ErrorKind::InvalidParams, field),
            "{method:?}"
        );
    }
}

#[test]
fn deep_data_is_bounded() {
    let nested = |depth: usize| {
        let mut value = json!(null);
        for _ in 0..depth {
            value = json!([value]);
        }
        Call::from(SendMessageRequest::new(Message::user(Part::data(json!({ "k": value })))))
    };
    let call = nested(100);
    assert_eq!(over_grpc(&call).unwrap(), call);
    for depth in [129, 500] {
        let error = over_grpc(&nested(depth)).unwrap_err();
        assert!(error.message().contains("nest too deep"), "{error}");
        assert_eq!(error.field_violations()[0].field, "message.content[0].data.data");
    }
    let deep = format!("{{\"metadata\":{{\"k\":{}{}}}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(request(&Verb::POST, "/v1/message:send", &deep).is_err());
}

#[test]
fn invalid_json_and_invalid_calls_are_distinguished() {
    for path in ["/v1/message:send", "/v1/tasks/7:cancel", "/v1/tasks/7/pushNotificationConfigs"] {
        let error = request(&Verb::POST, path, "{").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse, "{path}");
    }
    for (body, field) in [
        ("[]", "body"),
        ("{}", "message"),
        (r#"{"message":7}"#, "message"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER","content":7}}"#, "message.content"),
        (r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[]}}"#, "message.content"),
        (r#"{"message":{"messageId":"m","content":[{"text":"a"}]}}"#, "message.role"),
        (r#"{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","content":[{"text":"a"}]}}"#, "message.role"),
        (r#"{"message":{"messageId":"m","role":[],"content":[{"text":"a"}]}}"#, "message.role"),
        (r#"{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"a"}]}}"#, "message.role"),
        (r#"{"message":{"role":"ROLE_USER","content":[{"text":"a"}]}}"#, "message.messageId"),
    ] {
        let error = request(&Verb::POST, "/v1/message:send", body).unwrap_err();
        assert_eq!((error.kind(), &*error.field_violations()[0].field), (ErrorKind::InvalidParams, field), "{body}");
    }
    // The path is sufficient.
    assert!(request(&Verb::POST, "/v1/tasks/7:cancel", "").is_ok());
    assert!(request(&Verb::POST, "/v1/tasks/7:subscribe", "{}").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        for method in Method::ALL {
            let _ = grpc().decode_call(method, &bytes);
            let _ = grpc().decode_reply(method, &bytes);
            let _ = rest().decode_reply(method, &bytes);
        }
        let _ = grpc().decode_event(&bytes);
        let _ = rest().decode_event(&bytes);
    }

    #[test]
    fn no_change_of_a_byte_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let json = json!({
            "message": {
                "messageId": "m", "role": "ROLE_USER", "content": [
                    {"text": "a"}, {"data": {"data": {"a": [1, {"b": null}]}}}, {"file": {"fileWithBytes": "AAAA"}},
                ],
            },
            "configuration": {"historyLength": 3, "acceptedOutputModes": ["a"], "pushNotification": {"url": "u"}},
            "metadata": {"k": "v"},
        });
        let mut bytes = request_bytes(&json);
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = send(&bytes);
        let mut text = json.to_string().into_bytes();
        let index = at.index(text.len());
        text[index] = byte;
        let _ = request(&Verb::POST, "/v1/message:send", &String::from_utf8_lossy(&text));
    }
}
