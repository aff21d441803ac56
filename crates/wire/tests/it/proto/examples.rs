//! The binary examples of the specification.

use nuncio_model::{Method, StreamResponse};
use nuncio_wire::{Version, dialect, proto};
use serde_json::{Value, json, value::RawValue};

use super::oracle;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Puts a short message into a field of another message.
fn wrap(number: u8, message: &[u8]) -> Vec<u8> {
    let mut wrapped = vec![number << 3 | 2, u8::try_from(message.len()).unwrap()];
    assert!(message.len() < 128);
    wrapped.extend_from_slice(message);
    wrapped
}

fn request_of(message: &str) -> Option<Method> {
    match message {
        "TaskPushNotificationConfig" => Some(Method::CreateTaskPushNotificationConfig),
        request => Method::from_name(request.strip_suffix("Request")?),
    }
}

fn reply_of(message: &str) -> Option<Method> {
    match message {
        "Task" => Some(Method::GetTask),
        "ListTasksResponse" => Some(Method::ListTasks),
        "TaskPushNotificationConfig" => Some(Method::GetTaskPushNotificationConfig),
        "AgentCard" => Some(Method::GetExtendedAgentCard),
        _ => None,
    }
}

/// Some encoders write the entries of maps in another order.
fn assert_same(message: &str, actual: &[u8], expected: &[u8]) {
    if actual != expected {
        assert_eq!(actual.len(), expected.len(), "{message}");
        let descriptor = oracle::message(message);
        assert_eq!(oracle::from_bytes(&descriptor, actual), oracle::from_bytes(&descriptor, expected));
    }
}

#[test]
fn bytes_match_their_json_and_survive_a_round_trip() {
    let json_dialect = dialect(Version::V1_0).jsonrpc();
    let file: Value = serde_json::from_str(include_str!("spec/hex.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let name = case["message"].as_str().unwrap();
        let expected = bytes(case["hex"].as_str().unwrap());
        // The JSON has integers instead of floats without a fraction, as after decoding from protobuf.
        let json = oracle::to_json(&oracle::from_json(&oracle::message(name), &case["json"]));
        let (name, expected, json) = match name {
            "Part" => (
                "Task",
                [&[0x1a, 0][..], &wrap(4, &wrap(4, &expected))].concat(),
                json!({"id": "", "status": {}, "artifacts": [{"artifactId": "", "parts": [json]}]}),
            ),
            "AgentCapabilities" => ("AgentCard", wrap(7, &expected), json!({ "capabilities": json })),
            name => (name, expected, json),
        };
        let mut actual = Vec::new();
        if name == "StreamResponse" {
            let event = proto::decode_event(&expected).unwrap();
            assert_eq!(event, serde_json::from_value::<StreamResponse>(json).unwrap());
            proto::encode_event(&event, &mut actual);
            assert_same(name, &actual, &expected);
            continue;
        }
        let text = json.to_string();
        if let Some(method) = request_of(name) {
            let call = proto::decode_call(method, &expected).unwrap();
            let params = RawValue::from_string(text.clone()).unwrap();
            assert_eq!(call, json_dialect.decode_call(method, Some(&params)).unwrap(), "{name}");
            proto::encode_call(&call, &mut actual);
            assert_same(name, &actual, &expected);
            actual.clear();
        }
        if let Some(method) = reply_of(name) {
            let reply = proto::decode_reply(method, &expected).unwrap();
            let same = json_dialect.decode_reply(method, text.as_bytes()).unwrap();
            assert_eq!(format!("{reply:?}"), format!("{same:?}"), "{name}");
            proto::encode_reply(method, &reply, &mut actual).unwrap();
            assert_same(name, &actual, &expected);
        }
        assert!(request_of(name).is_some() || reply_of(name).is_some(), "{name}");
    }
}
