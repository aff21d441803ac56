//! Every example of 0.1 in both directions and both roles. Cards are tested with the cards of other versions.

use nuncio_model::{Error, StreamResponse, Task};
use nuncio_wire::{Dialect as _, Version, Versions, jsonrpc, v0_1::V0_1};
use serde_json::Value;

use super::{harness::v01, schema::assert_is};
use crate::spec::{assert_same, examples_of, json};

fn bytes(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

#[test]
fn of_jsonrpc() {
    let examples = examples_of("0.1", "v01-", "JSONRPC");
    assert_eq!(examples.len(), 9);
    for (name, example) in examples {
        let method = request(&name, &example["request"]);
        for event in example["sse_events"].as_array().into_iter().flatten() {
            let body = bytes(event);
            let (id, result) = jsonrpc::parse_response(v01(), &body).unwrap();
            let response = v01().decode_event(result.unwrap().get().as_bytes()).unwrap();
            let mut written = Vec::new();
            jsonrpc::write_result::<Error>(&id, &mut written, |to| {
                v01().encode_event(&response, to);
                Ok(())
            })
            .unwrap();
            assert_same(&written, event, &name);
        }
        let response = &example["response"];
        if response.is_null() {
            continue;
        }
        let body = bytes(response);
        let (id, result) = jsonrpc::parse_response(v01(), &body).unwrap();
        let mut written = Vec::new();
        match result {
            Ok(result) => {
                let reply = v01().decode_reply(method, result.get().as_bytes()).unwrap();
                jsonrpc::write_result(&id, &mut written, |to| v01().encode_reply(method, &reply, to)).unwrap();
            }
            Err(error) => jsonrpc::write_error(v01(), &id, &error, &mut written),
        }
        assert_is(&json(&written), "JSONRPCResponse");
        assert_same(&written, response, &name);
    }
}

fn request(name: &str, expected: &Value) -> nuncio_model::Method {
    let body = bytes(expected);
    let incoming = jsonrpc::parse_request(&body).unwrap();
    let meant = Versions::only([Version::V0_1]).for_method(None, &incoming.method).unwrap();
    assert_eq!(meant.dialect.dialect().version(), Version::V0_1);
    let method = meant.dialect.method(&incoming.method).unwrap();
    let call = v01().decode_call(method, incoming.params).unwrap();
    let params = v01().encode_call(&call).unwrap();
    let written = jsonrpc::write_request(&incoming.id.unwrap(), v01().method_name(method).unwrap(), Some(&params));
    assert_is(&json(&written), "JSONRPCRequest");
    assert_same(&written, expected, name);
    method
}

#[test]
fn of_webhooks() {
    for (name, example) in examples_of("0.1", "v01-", "webhook") {
        let body = &example["request"]["body"];
        let reply = v01().decode_reply(nuncio_model::Method::GetTask, &bytes(body)).unwrap();
        let mut written = Vec::new();
        V0_1.encode_notice(&StreamResponse::Task(Task::try_from(reply).unwrap()), &mut written);
        assert_is(&json(&written), "Task");
        assert_same(&written, body, &name);
    }
}
