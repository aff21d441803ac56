//! The envelope of JSON-RPC: accepted requests, refused requests, and responses.

use nuncio_model::{Error, ErrorKind};
use nuncio_wire::{
    Version, dialect,
    jsonrpc::{self, Id, parse_request, parse_response},
};

fn refusal(body: &str) -> (String, ErrorKind) {
    let (id, error) = parse_request(body.as_bytes()).expect_err(body);
    (id.to_string(), error.kind())
}

#[test]
fn a_body_that_is_not_json_is_a_parse_error() {
    for body in ["", " ", "{", "{\"jsonrpc\":\"2.0\",\"id\":1,", "nope", "{}}", "[1", "{\"a\":tru}", "\"\u{1}\""] {
        assert_eq!(refusal(body), ("null".to_owned(), ErrorKind::Parse), "{body}");
    }
    let (id, error) = parse_request(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"GetTask\"}").unwrap_err();
    assert_eq!((id, error.kind()), (Id::NULL, ErrorKind::Parse));
}

#[test]
fn json_that_is_not_a_request_is_an_invalid_request() {
    for body in ["[]", "1", "null", "\"x\"", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\"}]"] {
        assert_eq!(refusal(body), ("null".to_owned(), ErrorKind::InvalidRequest), "{body}");
    }
    for (id, echo) in [("7", "7"), ("\"7\"", "\"7\""), ("null", "null")] {
        for rest in [
            r#""method":"GetTask""#,
            r#""jsonrpc":"1.0","method":"GetTask""#,
            r#""jsonrpc":2.0,"method":"GetTask""#,
            r#""jsonrpc":"2.0""#,
            r#""jsonrpc":"2.0","method":7"#,
            r#""jsonrpc":"2.0","method":null"#,
        ] {
            let body = format!("{{\"id\":{id},{rest}}}");
            assert_eq!(refusal(&body), (echo.to_owned(), ErrorKind::InvalidRequest), "{body}");
        }
    }
    for id in ["{}", "[]", "true", "1.5", "1e3", "-"] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"GetTask","id":{id}}}"#);
        let kind = if id == "-" { ErrorKind::Parse } else { ErrorKind::InvalidRequest };
        assert_eq!(refusal(&body), ("null".to_owned(), kind), "{body}");
    }
}

#[test]
fn ids_are_returned_unchanged() {
    for id in ["7", "-7", "0", "-0", "\"7\"", "\"\"", "null", "18446744073709551616", r#""é\u00e9\"\\""#] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"GetTask","id":{id}}}"#);
        let incoming = parse_request(body.as_bytes()).unwrap();
        let mut to = Vec::new();
        jsonrpc::write_result::<()>(&incoming.id.clone().unwrap(), &mut to, |to| {
            to.extend_from_slice(b"1");
            Ok(())
        })
        .unwrap();
        assert_eq!(String::from_utf8(to).unwrap(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
        assert_eq!(incoming.id.unwrap().is_null(), id == "null");
    }
    assert_eq!(Id::from("a\"b").to_string(), r#""a\"b""#);
    assert_ne!(Id::from(7), Id::from("7"));
}

#[test]
fn the_method_can_be_escaped_and_params_can_be_absent() {
    let incoming = parse_request(br#" {"params":null,"method":"Get\u0054ask","jsonrpc":"2.0","x":[{}]} "#).unwrap();
    assert_eq!((&*incoming.method, incoming.id, incoming.params.is_none()), ("GetTask", None, true));
    let incoming = parse_request(br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id": "t"}}"#).unwrap();
    assert_eq!(incoming.params.unwrap().get(), r#"{"id": "t"}"#);
}

#[test]
fn a_failed_result_leaves_the_buffer_unchanged() {
    let mut to = b"before".to_vec();
    let outcome = jsonrpc::write_result(&1.into(), &mut to, |to| {
        to.extend_from_slice(b"half");
        Err("no")
    });
    assert_eq!((outcome, &*to), (Err("no"), &b"before"[..]));
}

#[test]
fn a_written_request_is_read_back() {
    let written = jsonrpc::write_request(&Id::from("a"), "GetTask", None);
    let incoming = parse_request(&written).unwrap();
    assert_eq!((incoming.id, &*incoming.method), (Some(Id::from("a")), "GetTask"));
    assert!(incoming.params.is_none());
    assert_eq!(written, br#"{"jsonrpc":"2.0","id":"a","method":"GetTask"}"#);
}

#[test]
fn a_response_has_a_result_or_an_error() {
    let read = |body| parse_response(dialect(Version::V1_0).jsonrpc(), body);
    let (id, result) = read(br#"{"jsonrpc":"2.0","id":7,"result":null}"#).unwrap();
    assert_eq!((id, result.unwrap().get()), (Id::from(7), "null"));
    let (_, result) = read(br#"{"id":7,"result":{},"error":null}"#).unwrap();
    assert_eq!(result.unwrap().get(), "{}");
    // The answer of the Python SDK to a deletion before 1.0.
    let (_, result) = read(br#"{"jsonrpc":"2.0","id":"7"}"#).unwrap();
    assert_eq!(result.unwrap().get(), "null");
    for body in ["", "{", "[]", "7", "{}", r#"{"id":1}"#, r#"{"id":1,"error":7}"#, "<html>"] {
        let error = read(body.as_bytes()).expect_err(body);
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{body}");
    }
}

#[test]
fn parse_errors_and_batches_become_protocol_errors() {
    let show = |error: Error| {
        let mut to = Vec::new();
        jsonrpc::write_error(dialect(Version::LATEST).jsonrpc(), &Id::NULL, &error, &mut to);
        String::from_utf8(to).unwrap()
    };
    insta::assert_snapshot!(show(parse_request(b"{").unwrap_err().1));
    insta::assert_snapshot!(show(parse_request(b"[]").unwrap_err().1));
}
