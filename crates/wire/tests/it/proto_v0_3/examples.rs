//! The examples of 0.3 in HTTP+JSON and in protobuf, in both directions and both roles.

use std::sync::Arc;

use http::Method as Verb;
use nuncio_model::{Method, Reply};
use nuncio_wire::{Version, Versions, rest};
use prost::Message as _;
use serde_json::{Value, json};

use super::{grpc, grpc_reply, message, rest as v03, rest_reply};
use crate::{
    proto::oracle,
    spec::{self, assert_same, examples_of},
};

#[test]
fn of_rest() {
    let examples = examples_of("0.3", "v03-rest-", "HTTP+JSON");
    assert_eq!(examples.len(), 9);
    for (name, example) in examples {
        let method = request(&name, &example["request"]);
        let response = &example["response"];
        if let Some(events) = response["sse_events"].as_array() {
            assert!(!events.is_empty());
            for event in events {
                let read = v03().decode_event(event.to_string().as_bytes()).unwrap();
                let mut written = Vec::new();
                v03().encode_event(&read, &mut written);
                assert_same(&written, event, &name);
            }
        } else if let Some(body) = response.get("body") {
            let reply = v03().decode_reply(method, body.to_string().as_bytes()).unwrap();
            assert_same(&rest_reply(method, &reply), body, &name);
        } else {
            // Status 204.
            assert!(matches!(v03().decode_reply(method, b"").unwrap(), Reply::Deleted), "{name}");
        }
    }
}

/// Reads a request at a server without a declared version, and writes the request as a client.
fn request(name: &str, request: &Value) -> Method {
    let verb: Verb = request["method"].as_str().unwrap().parse().unwrap();
    let path = request["path"].as_str().unwrap();
    let (plain, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let (dialect, routed) = Versions::default().for_path(None, &verb, plain).unwrap();
    assert_eq!(dialect.dialect().version(), Version::V0_3, "{name}");
    let body = request.get("body").map(Value::to_string).unwrap_or_default();
    let content_type = request["headers"]["Content-Type"].as_str();
    let call = rest::decode_call(dialect, &routed, query, content_type, body.as_bytes()).unwrap();
    let sent = dialect.encode_call(&call).unwrap();
    assert_eq!((&sent.method, &*sent.path), (&verb, path), "{name}");
    match request.get("body") {
        Some(body) => assert_same(&sent.body.unwrap(), body, name),
        None => assert_eq!(sent.body, None, "{name}"),
    }
    assert_eq!(dialect.content_type(), "application/json");
    routed.method
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn request_of(message: &str) -> Option<Method> {
    Some(match message {
        "SendMessageRequest" => Method::SendMessage,
        "GetTaskRequest" => Method::GetTask,
        "CancelTaskRequest" => Method::CancelTask,
        "TaskSubscriptionRequest" => Method::SubscribeToTask,
        "CreateTaskPushNotificationConfigRequest" => Method::CreateTaskPushNotificationConfig,
        "ListTaskPushNotificationConfigRequest" => Method::ListTaskPushNotificationConfigs,
        _ => return None,
    })
}

fn reply_of(message: &str) -> Option<Method> {
    Some(match message {
        "SendMessageResponse" => Method::SendMessage,
        "Task" => Method::GetTask,
        "TaskPushNotificationConfig" => Method::GetTaskPushNotificationConfig,
        "AgentCard" => Method::GetExtendedAgentCard,
        _ => return None,
    })
}

/// Some messages of the examples are part of another message.
fn wrapped(name: &str, json: &Value) -> Option<(&'static str, Value)> {
    (name == "Artifact").then(|| ("Task", json!({"id": "t", "status": {}, "artifacts": [json]})))
}

#[test]
fn of_bytes() {
    let file: Value = spec::file("examples/v03-proto-hex.json");
    for case in file["cases"].as_array().unwrap() {
        let name = case["message"].as_str().unwrap();
        let mut expected = bytes(case["hex"].as_str().unwrap());
        let parsed = oracle::from_json(&message(name), &case["json"]);
        assert_eq!(parsed, oracle::from_bytes(&message(name), &expected), "{name}");
        let mut json = oracle::to_json(&parsed);
        let name = wrapped(name, &json).map_or(name, |(outer, wrapped)| {
            json = wrapped;
            expected = oracle::from_json(&message(outer), &json).encode_to_vec();
            outer
        });
        if name == "StreamResponse" {
            let event = grpc().decode_event(&expected).unwrap();
            assert_eq!(event, v03().decode_event(json.to_string().as_bytes()).unwrap());
            let (mut written, mut text) = (Vec::new(), Vec::new());
            grpc().encode_event(&event, &mut written);
            v03().encode_event(&event, &mut text);
            assert_eq!(written, expected);
            assert_same(&text, &json, name);
        } else if let Some(method) = request_of(name) {
            let call = grpc().decode_call(method, &expected).unwrap();
            let mut written = Vec::new();
            grpc().encode_call(&call, &mut written).unwrap();
            assert_eq!(written, expected, "{name}");
        } else {
            let method = reply_of(name).unwrap_or_else(|| panic!("{name} is not looked at"));
            let reply = grpc().decode_reply(method, &expected).unwrap();
            let same = v03().decode_reply(method, json.to_string().as_bytes()).map(with_all_flags).unwrap();
            assert_eq!(format!("{reply:?}"), format!("{same:?}"), "{name}");
            let written = grpc_reply(method, &reply);
            if name == "AgentCard" {
                card(&written, &expected);
            } else {
                assert_eq!(written, expected, "{name}");
                assert_same(&rest_reply(method, &reply), &json, name);
            }
        }
    }
}

/// A reply with values for all flags that protobuf cannot leave unset.
fn with_all_flags(reply: Reply) -> Reply {
    let Reply::Card(mut card) = reply else { return reply };
    let capabilities = &mut Arc::make_mut(&mut card).capabilities;
    for flag in
        [&mut capabilities.streaming, &mut capabilities.push_notifications, &mut capabilities.extended_agent_card]
    {
        flag.get_or_insert_default();
    }
    Reply::Card(card)
}

/// The first interface of a card is also an additional interface.
fn card(written: &[u8], expected: &[u8]) {
    let written = oracle::to_json(&oracle::from_bytes(&message("AgentCard"), written));
    let mut expected = oracle::to_json(&oracle::from_bytes(&message("AgentCard"), expected));
    let main = json!({"url": expected["url"], "transport": expected["preferredTransport"]});
    expected["additionalInterfaces"].as_array_mut().unwrap().insert(0, main);
    assert_eq!(written, expected);
}
