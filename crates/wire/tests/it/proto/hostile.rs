//! Malicious and invalid bytes.

use nuncio_model::{Call, ErrorKind, Message, Method, Part, op::SendMessageRequest};
use nuncio_wire::proto;
use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::{Value, json};

use super::oracle;

fn request(json: &Value) -> DynamicMessage {
    oracle::from_json(&oracle::message("SendMessageRequest"), json)
}

fn send(bytes: &[u8]) -> Result<Call, (ErrorKind, Vec<String>, String)> {
    proto::decode_call(Method::SendMessage, bytes).map_err(|error| {
        let fields = error.field_violations().iter().map(|it| it.field.clone()).collect();
        (error.kind(), fields, error.message().to_owned())
    })
}

fn invalid(bytes: &[u8]) -> (Vec<String>, String) {
    let (kind, fields, message) = send(bytes).unwrap_err();
    assert_eq!(kind, ErrorKind::InvalidParams, "{message}");
    (fields, message)
}

#[test]
fn a_part_without_content_is_named() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}, {"filename": "f"}]});
    let (fields, message) = invalid(&request(&json!({ "message": message })).encode_to_vec());
    assert_eq!(fields, ["message.parts[1]"]);
    assert!(message.contains("needs one of text, raw, url and data"), "{message}");
}

#[test]
fn an_unknown_enum_number_is_named() {
    // { message: { message_id: "m", role: 9, parts: [{ text: "a" }] } }
    let bytes = b"\x12\x0c\x0a\x01m\x20\x09\x2a\x05\x0a\x03abc";
    let (fields, message) = invalid(bytes);
    assert_eq!(fields, ["message.role"]);
    assert_eq!(message, "message.role: unknown Role 9");
}

#[test]
fn every_wrong_field_is_named() {
    let message = json!({"contextId": "c", "role": 9, "parts": [{"filename": "f"}, {"text": "a"}, {"mediaType": "m"}]});
    let configuration = json!({"historyLength": -1});
    let bytes = request(&json!({"message": message, "configuration": configuration})).encode_to_vec();
    let (fields, _) = invalid(&bytes);
    let expected =
        ["message.role", "message.parts[0]", "message.parts[2]", "message.messageId", "configuration.historyLength"];
    assert_eq!(fields, expected);
}

#[test]
fn an_unknown_enum_number_of_a_server_is_accepted() {
    // { status: { state: 99 } }
    let task = proto::decode_reply(Method::GetTask, b"\x1a\x02\x08\x63").unwrap();
    assert!(matches!(task, nuncio_model::Reply::Task(task) if task.state() == nuncio_model::TaskState::Unspecified));
}

#[test]
fn all_missing_fields_are_named_at_once() {
    let (fields, _) = invalid(&request(&json!({"message": {"contextId": "c"}})).encode_to_vec());
    assert_eq!(fields, ["message.messageId", "message.role", "message.parts"]);
    assert_eq!(invalid(b"").0, ["message"]);
}

#[test]
fn a_time_out_of_range_is_named() {
    for timestamp in [&b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..], b"\x08\xff\xff\xff\xff\xff\xff\x01"] {
        let mut bytes = vec![0x3a, u8::try_from(timestamp.len()).unwrap()];
        bytes.extend_from_slice(timestamp);
        let error = proto::decode_call(Method::ListTasks, &bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        assert_eq!(error.field_violations()[0].field, "statusTimestampAfter");
    }
}

#[test]
fn numbers_that_json_lacks_are_refused() {
    for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // { metadata: { fields: { key: "", value: { number_value: … } } } }
        let mut bytes = b"\x12\x01t\x1a\x0f\x0a\x0d\x12\x0b\x0a\x00\x11".to_vec();
        bytes[4..].copy_from_slice(b"\x0d\x0a\x0b\x12\x09\x11\0\0");
        bytes.truncate(10);
        bytes.extend_from_slice(&double.to_le_bytes());
        let error = proto::decode_call(Method::CancelTask, &bytes).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidParams, "metadata: a number must be finite"));
    }
}

#[test]
fn invalid_protobuf_is_a_parse_error() {
    for bytes in [
        &b"{\"message\":{}}"[..],
        b"\x12",
        b"\x12\x05ab",
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x00\x01",
        b"\x07",
        b"\x08\x01",
        b"\x0a\x02\xff\xfe",
        b"\x83\x06\x84\x07",
        b"\x83\x06",
        b"\x84\x06",
    ] {
        let (kind, _, message) = send(bytes).unwrap_err();
        assert_eq!(kind, ErrorKind::Parse, "{bytes:x?}: {message}");
    }
}

#[test]
fn invalid_protobuf_inside_a_field_names_the_field() {
    for (bytes, field) in [
        // No UTF-8, a number instead of a string, a truncated string, a truncated message.
        (&b"\x12\x06\x0a\x02\xff\xfe\x20\x01"[..], "message.messageId"),
        (b"\x12\x02\x08\x01", "message.messageId"),
        (b"\x12\x07\x2a\x05\x0a\x09abc", "message.parts[0].text"),
        (b"\x12\x05ab", "message"),
    ] {
        let (kind, fields, message) = send(bytes).unwrap_err();
        assert_eq!((kind, &*fields), (ErrorKind::Parse, &[field.to_owned()][..]), "{message}");
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
    // A truncated tag belongs to no field.
    assert!(send(b"\xa0").unwrap_err().1.is_empty());
}

#[test]
fn unknown_fields_are_skipped() {
    // { id: "t", and the unknown fields 100 to 103 as varint, 64 bits, bytes and 32 bits, and 104 as a group with
    // nested groups }
    let bytes = b"\xa0\x06\x96\x01\xa9\x06\0\0\0\0\0\0\0\0\xb2\x06\x01x\xbd\x06\0\0\0\0\xc3\x06\x0b\x08\x01\x0c\xc4\x06\x12\x01t";
    let Call::GetTask(request) = proto::decode_call(Method::GetTask, bytes).unwrap() else { panic!("another call") };
    assert_eq!(request.id, "t");
}

#[test]
fn repeated_occurrences_of_a_message_are_merged() {
    // { message: { message_id: "m" }, message: { role: 1 }, message: { parts: [{ text: "a" }] } }
    let Ok(Call::SendMessage(request)) = send(b"\x12\x03\x0a\x01m\x12\x02\x20\x01\x12\x05\x2a\x03\x0a\x01a") else {
        panic!("refused");
    };
    assert_eq!(request.message.text(), "a");
}

/// Nested lists in the data of a part.
fn nested(depth: usize) -> Vec<u8> {
    let mut value = vec![0x08, 0x00];
    for _ in 0..depth {
        for tag in [0x0a, 0x32] {
            let mut outer = Vec::with_capacity(value.len() + 6);
            prost::encoding::encode_varint(tag, &mut outer);
            prost::encoding::encode_varint(value.len() as u64, &mut outer);
            outer.extend_from_slice(&value);
            value = outer;
        }
    }
    for tag in [0x22, 0x2a] {
        let mut outer = Vec::with_capacity(value.len() + 6);
        prost::encoding::encode_varint(tag, &mut outer);
        prost::encoding::encode_varint(value.len() as u64, &mut outer);
        outer.extend_from_slice(&value);
        value = outer;
    }
    let mut bytes = b"\x0a\x01m\x20\x01".to_vec();
    bytes.extend_from_slice(&value);
    let mut request = vec![0x12];
    prost::encoding::encode_varint(bytes.len() as u64, &mut request);
    request.extend_from_slice(&bytes);
    request
}

#[test]
fn nesting_is_bounded() {
    let Ok(call) = send(&nested(128)) else { panic!("refused") };
    let mut bytes = Vec::new();
    proto::encode_call(&call, &mut bytes);
    assert_eq!(bytes, nested(128));
    for depth in [129, 5_000] {
        let (fields, message) = invalid(&nested(depth));
        assert_eq!(fields, ["message.parts[0].data"]);
        assert!(message.contains("nest too deep"), "{message}");
    }
}

#[test]
fn a_deep_and_large_value_survives_a_round_trip() {
    let mut value = json!("x".repeat(1 << 20));
    for _ in 0..60 {
        value = json!([{ "k": value }, 1]);
    }
    let call = Call::from(SendMessageRequest::new(Message::user(Part::data(value))));
    let mut bytes = Vec::new();
    proto::encode_call(&call, &mut bytes);
    assert_eq!(send(&bytes).unwrap(), call);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        for method in Method::ALL {
            let _ = proto::decode_call(method, &bytes);
            let _ = proto::decode_reply(method, &bytes);
        }
        let _ = proto::decode_event(&bytes);
        let _ = proto::decode_status(13, "", Some(&bytes));
    }

    #[test]
    fn no_change_of_a_byte_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = request(&json!({
            "tenant": "t",
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}, {"data": {"a": [1, {"b": null}]}}]},
            "configuration": {"historyLength": 3, "acceptedOutputModes": ["a"]},
            "metadata": {"k": "v"},
        }))
        .encode_to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = send(&bytes);
    }
}
