//! Every example of version 1.0 in both directions and both roles. The requests of clients and the answers of servers
//! are read and written again.

use nuncio_wire::{JsonRpcDialect, RestDialect, Version, Versions, card, dialect, jsonrpc, rest};
use serde_json::Value;

use crate::spec::{assert_same, examples};

fn bytes(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

fn version(headers: &Value) -> Option<&str> {
    headers["A2A-Version"].as_str()
}

#[test]
fn of_jsonrpc() {
    for (name, example) in examples("JSONRPC") {
        let request = match &example["request_raw"] {
            Value::String(raw) => raw.clone().into_bytes(),
            _ => bytes(&example["request"]),
        };
        let header = version(&example["http"]["headers"]);
        let outcome = jsonrpc_request(&name, header, &request, &example["request"]);
        let dialect = dialect(Version::V1_0).jsonrpc();
        if let Some(events) = example["sse_events"].as_array() {
            assert!(!events.is_empty());
            for event in events {
                jsonrpc_event(dialect, &name, event);
            }
        } else if example["response"]["error"].is_object() {
            jsonrpc_error(dialect, &name, &example["response"], outcome.unwrap_err());
        } else {
            let method = outcome.unwrap();
            let body = bytes(&example["response"]);
            let (id, result) = jsonrpc::parse_response(dialect, &body).unwrap();
            let reply = dialect.decode_reply(method, result.unwrap().get().as_bytes()).unwrap();
            let mut written = Vec::new();
            jsonrpc::write_result(&id, &mut written, |to| dialect.encode_reply(method, &reply, to)).unwrap();
            assert_same(&written, &example["response"], &name);
        }
    }
}

fn jsonrpc_request(
    name: &str,
    header: Option<&str>,
    body: &[u8],
    expected: &Value,
) -> Result<nuncio_model::Method, (jsonrpc::Id, nuncio_model::Error)> {
    let incoming = jsonrpc::parse_request(body)?;
    let id = incoming.id.expect("examples have ids");
    let dialect = Versions::default().for_method(header, &incoming.method).unwrap().dialect;
    let method = dialect.method(&incoming.method).unwrap();
    let call = match dialect.decode_call(method, incoming.params) {
        Ok(call) => call,
        Err(error) => return Err((id, error)),
    };
    assert_eq!(call.method(), method);
    let params = dialect.encode_call(&call).unwrap();
    assert_same(&jsonrpc::write_request(&id, dialect.method_name(method).unwrap(), Some(&params)), expected, name);
    Ok(method)
}

fn jsonrpc_event(dialect: &dyn JsonRpcDialect, name: &str, event: &Value) {
    let body = bytes(event);
    let (id, result) = jsonrpc::parse_response(dialect, &body).unwrap();
    let response = dialect.decode_event(result.unwrap().get().as_bytes()).unwrap();
    let mut written = Vec::new();
    jsonrpc::write_result::<()>(&id, &mut written, |to| {
        dialect.encode_event(&response, to);
        Ok(())
    })
    .unwrap();
    assert_same(&written, event, name);
}

fn jsonrpc_error(dialect: &dyn JsonRpcDialect, name: &str, response: &Value, ours: (jsonrpc::Id, nuncio_model::Error)) {
    let body = bytes(response);
    let (id, result) = jsonrpc::parse_response(dialect, &body).unwrap();
    let theirs = result.unwrap_err();
    let mut written = Vec::new();
    jsonrpc::write_error(dialect, &id, &theirs, &mut written);
    assert_same(&written, response, name);
    // The error of this server for the same request has the same kind and names the same fields.
    let (our_id, ours) = ours;
    assert_eq!((our_id, ours.kind()), (id, theirs.kind()), "{name}");
    let fields =
        |error: &nuncio_model::Error| error.field_violations().iter().map(|it| it.field.clone()).collect::<Vec<_>>();
    assert_eq!(fields(&ours), fields(&theirs), "{name}");
}

#[test]
fn of_rest() {
    let dialect = dialect(Version::V1_0).rest().unwrap();
    for (name, example) in examples("HTTP+JSON") {
        let method = rest_request(&name, &example["request"]);
        let response = &example["response"];
        if let Some(events) = response["sse_events"].as_array() {
            for event in events {
                rest_event(dialect, &name, event);
            }
        } else {
            assert_eq!(response["status"], 200);
            let reply = dialect.decode_reply(method, &bytes(&response["body"])).unwrap();
            let mut written = Vec::new();
            dialect.encode_reply(method, &reply, &mut written).unwrap();
            assert_same(&written, &response["body"], &name);
        }
    }
}

fn rest_request(name: &str, request: &Value) -> nuncio_model::Method {
    let http_method = request["method"].as_str().unwrap().parse().unwrap();
    let target = request["path"].as_str().unwrap();
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let headers = &request["headers"];
    let body = request.get("body").map(bytes).unwrap_or_default();
    let (dialect, routed) = Versions::default().for_path(version(headers), &http_method, path).unwrap();
    let call = rest::decode_call(dialect, &routed, query, headers["Content-Type"].as_str(), &body).unwrap();

    let outgoing = dialect.encode_call(&call).unwrap();
    assert_eq!(outgoing.method, http_method, "{name}");
    assert_eq!(sorted(&outgoing.path), sorted(target), "{name}");
    match (&outgoing.body, request.get("body")) {
        (Some(written), Some(body)) => assert_same(written, body, name),
        (written, body) => assert_eq!((written.is_none(), body.is_none()), (true, true), "{name}"),
    }
    routed.method
}

/// A target with its parameters sorted, because their order is irrelevant.
fn sorted(target: &str) -> (String, Vec<String>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut pairs: Vec<_> = query.split('&').map(str::to_owned).collect();
    pairs.sort();
    (path.to_owned(), pairs)
}

fn rest_event(dialect: &dyn RestDialect, name: &str, event: &Value) {
    let response = dialect.decode_event(&bytes(event)).unwrap();
    let mut written = Vec::new();
    dialect.encode_event(&response, &mut written);
    assert_same(&written, event, name);
}

#[test]
fn of_webhooks() {
    for (name, example) in examples("webhook") {
        rest_event(dialect(Version::V1_0).rest().unwrap(), &name, &example["request"]["body"]);
    }
}

#[test]
fn of_cards() {
    let dialect = dialect(Version::V1_0);
    for (name, example) in examples("card") {
        let json =
            [&example["response"]["body"], &example["signed_card"]].into_iter().find(|it| it.is_object()).unwrap();
        let found = card::decode(&bytes(json)).unwrap();
        let written = card::encode_for(&found, dialect.version());
        assert_same(&written, json, &name);
        assert_eq!(card::encode(&found, &Versions::only([Version::V1_0])), written, "{name}");
    }
}

#[test]
fn deletions_are_read_in_every_form() {
    let dialect = dialect(Version::V1_0).jsonrpc();
    for body in ["null", "{}", "", " "] {
        let reply = dialect.decode_reply(nuncio_model::Method::DeleteTaskPushNotificationConfig, body.as_bytes());
        assert!(matches!(reply, Ok(nuncio_model::Reply::Deleted)), "{body:?}");
    }
}
