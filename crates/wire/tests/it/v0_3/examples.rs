//! Every example of 0.2 and 0.3 in JSON-RPC, in both directions and both roles, and the pairs of 0.3 and 1.0.

use nuncio_model::{Error, Method, Reply};
use nuncio_wire::{JsonRpcDialect, Version, Versions, dialect, jsonrpc};
use serde_json::{Value, json};

use super::{event, schema, v03, v10, written};
use crate::spec::{assert_same, examples_of, file, json};

/// A request without the members that this client always writes.
fn without_habits(mut request: Value) -> Value {
    let Some(params) = request.get_mut("params").and_then(Value::as_object_mut) else { return request };
    if let Some(configuration) = params.get_mut("configuration").and_then(Value::as_object_mut) {
        configuration.retain(|name, value| !(name == "blocking" && *value == true));
        configuration.retain(|name, value| !(name == "acceptedOutputModes" && *value == json!([])));
        if configuration.is_empty() {
            params.remove("configuration");
        }
    }
    request
}

fn request(version: Version, name: &str, example: &Value) -> (Method, jsonrpc::Id) {
    let spoken = dialect(version).jsonrpc();
    let body = example["request"].to_string();
    let incoming = jsonrpc::parse_request(body.as_bytes()).unwrap();
    let meant = Versions::only([version]).for_method(None, &incoming.method).unwrap();
    assert_eq!(meant.dialect.dialect().version(), version, "{name}");
    let method = spoken.method(&incoming.method).unwrap();
    let call = spoken.decode_call(method, incoming.params).unwrap();
    assert_eq!(call.method(), method, "{name}");
    let params = spoken.encode_call(&call).unwrap();
    schema::check_params(&incoming.method, &json(params.get().as_bytes()));
    let id = incoming.id.unwrap();
    let again = jsonrpc::write_request(&id, spoken.method_name(method).unwrap(), Some(&params));
    let again = without_habits(json(&again));
    assert_same(again.to_string().as_bytes(), &without_habits(example["request"].clone()), name);
    (method, id)
}

fn response(spoken: &dyn JsonRpcDialect, method: Method, name: &str, document: &Value) {
    let body = document.to_string();
    let (id, result) = jsonrpc::parse_response(spoken, body.as_bytes()).unwrap();
    let mut to = Vec::new();
    match result {
        Ok(result) => {
            let reply = spoken.decode_reply(method, result.get().as_bytes()).unwrap();
            let write = |to: &mut Vec<u8>| spoken.encode_reply(method, &reply, to);
            jsonrpc::write_result(&id, &mut to, write).unwrap();
            schema::check_result(v03().method_name(method).unwrap(), &json(&to)["result"]);
            // The tests of cards cover the losses of a card.
            if let Reply::Card(card) = &reply {
                let result = json(&to)["result"].to_string();
                let Ok(Reply::Card(again)) = spoken.decode_reply(method, result.as_bytes()) else { panic!("{name}") };
                assert_eq!(again, *card);
                return;
            }
        }
        Err(error) => jsonrpc::write_error(spoken, &id, &error, &mut to),
    }
    assert_same(&to, document, name);
}

#[test]
fn of_jsonrpc() {
    for (version, examples) in
        [(Version::V0_2, examples_of("0.2", "v02", "JSONRPC")), (Version::V0_3, examples_of("0.3", "v03-", "JSONRPC"))]
    {
        let spoken = dialect(version).jsonrpc();
        for (name, example) in examples {
            let (method, _) = request(version, &name, &example);
            let Some(events) = example["sse_events"].as_array() else {
                response(spoken, method, &name, &example["response"]);
                continue;
            };
            for document in events {
                let body = document.to_string();
                let (id, result) = jsonrpc::parse_response(spoken, body.as_bytes()).unwrap();
                let event = spoken.decode_event(result.unwrap().get().as_bytes()).unwrap();
                let mut to = Vec::new();
                let written: Result<(), Error> = jsonrpc::write_result(&id, &mut to, |to| {
                    spoken.encode_event(&event, to);
                    Ok(())
                });
                written.unwrap();
                assert_same(&to, document, &name);
            }
        }
    }
}

#[test]
fn of_webhooks() {
    for (name, example) in examples_of("0.3", "v03-", "webhook") {
        let body = &example["request"]["body"];
        let told = event(v03(), body);
        for version in [Version::V0_2, Version::V0_3] {
            let mut to = Vec::new();
            dialect(version).encode_notice(&told, &mut to);
            assert_same(&to, body, &name);
            assert_eq!(dialect(version).notice_type(), example["request"]["headers"]["Content-Type"]);
        }
    }
}

/// Embeds the values of a pair in events or params, because only these are read and written.
fn around(kind: &str, v10: &Value, v03: &Value) -> (Value, Value) {
    let message = |part: &Value, of: &str| json!({"messageId": "m", "role": of, "parts": [part]});
    match kind {
        "Task" => (json!({"task": v10}), v03.clone()),
        "Part" => {
            let mut older = message(v03, "agent");
            older["kind"] = "message".into();
            (json!({"message": message(v10, "ROLE_AGENT")}), older)
        }
        _ => (v10.clone(), v03.clone()),
    }
}

fn params(kind: &str, v10: &Value, v03: &Value) -> Option<(Method, Value, Value)> {
    let user = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let older = json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]});
    match kind {
        "TaskPushNotificationConfig" => Some((Method::CreateTaskPushNotificationConfig, v10.clone(), v03.clone())),
        "SendMessageConfiguration" => Some((
            Method::SendMessage,
            json!({"message": user, "configuration": v10}),
            json!({"message": older, "configuration": v03}),
        )),
        _ => None,
    }
}

#[test]
fn of_pairs() {
    let pairs: Value = file("examples/pairs-v03-v10.json");
    let pairs = pairs["pairs"].as_array().unwrap();
    assert!(pairs.len() > 10);
    for pair in pairs {
        let kind = pair["type"].as_str().unwrap();
        // A number without a fraction equals the same number as a float.
        let (old, new) = (without_fractions(&pair["v03"]), &pair["v10"]);
        if let Some((method, new, old)) = params(kind, new, &old) {
            let call = super::read(v10(), method, &new).unwrap();
            assert_eq!(super::read(v03(), method, &old).unwrap(), call, "{pair}");
            assert_eq!(json(v03().encode_call(&call).unwrap().get().as_bytes()), old, "{pair}");
        } else {
            let (new, old) = around(kind, new, &old);
            let model = event(v10(), &new);
            assert_eq!(event(v03(), &old), model, "{pair}");
            assert_eq!(written(v03(), &model), old, "{pair}");
        }
    }
}

fn without_fractions(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "the number is whole and small")]
            Some(double) if double.fract() == 0.0 => json!(double as i64),
            _ => value.clone(),
        },
        Value::Array(values) => values.iter().map(without_fractions).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), without_fractions(value))).collect()
        }
        other => other.clone(),
    }
}
