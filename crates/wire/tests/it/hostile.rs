//! Malicious input: the result is an error, never a panic and never a stack overflow.

use std::time::{Duration, Instant};

use nuncio_model::{ErrorKind, Method};
use nuncio_wire::{Version, card, dialect, jsonrpc, rest, sse};
use proptest::prelude::*;

const LEVELS: usize = 20_000;

fn nested(open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(LEVELS), close.repeat(LEVELS))
}

#[test]
fn deep_nesting_is_an_error_everywhere() {
    let (rpc, web) = (dialect(Version::V1_0).jsonrpc(), dialect(Version::V1_0).rest().unwrap());
    for deep in [nested("[", "]"), nested(r#"{"a":"#, "}")] {
        let message =
            |data: &str| format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{data}}}]}}}}"#);
        // The envelope is read without parsing the params. The params are refused.
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, message(&deep));
        let incoming = jsonrpc::parse_request(body.as_bytes()).unwrap();
        let error = rpc.decode_call(Method::SendMessage, incoming.params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        let told = error.message();
        assert!(told.starts_with("message.parts[0].data") && told.ends_with(": recursion limit exceeded"), "{told}");
        assert!(told.len() < 100, "{told}");

        let routed = web.route(&http::Method::POST, "/message:send").unwrap();
        let error =
            rest::decode_call(web, &routed, None, Some(rest::CONTENT_TYPE), message(&deep).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);

        // The nested value as the whole body, as the envelope, and as an id.
        assert!(jsonrpc::parse_request(deep.as_bytes()).is_err());
        assert!(jsonrpc::parse_request(format!(r#"{{"jsonrpc":"2.0","method":"x","id":{deep}}}"#).as_bytes()).is_err());
        assert!(rest::decode_call(web, &routed, None, Some(rest::CONTENT_TYPE), deep.as_bytes()).is_err());

        // The nested value as an answer.
        assert!(jsonrpc::parse_response(rpc, deep.as_bytes()).is_err());
        assert!(jsonrpc::parse_response(rpc, format!(r#"{{"error":{{"data":{deep}}}}}"#).as_bytes()).is_err());
        assert!(rpc.decode_reply(Method::GetTask, format!(r#"{{"metadata":{{"a":{deep}}}}}"#).as_bytes()).is_err());
        assert!(rpc.decode_event(deep.as_bytes()).is_err());
        assert!(
            card::decode(format!(r#"{{"capabilities":{{"extensions":[{{"params":{{"a":{deep}}}}}]}}}}"#).as_bytes())
                .is_err()
        );
        assert_eq!(rest::parse_error(http::StatusCode::BAD_GATEWAY, deep.as_bytes()).kind(), ErrorKind::Unavailable);
    }
}

#[test]
fn a_hundred_levels_are_accepted() {
    let data = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let body = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{data}}}]}}}}"#);
    let web = dialect(Version::V1_0).rest().unwrap();
    let routed = web.route(&http::Method::POST, "/message:send").unwrap();
    assert!(rest::decode_call(web, &routed, None, Some(rest::CONTENT_TYPE), body.as_bytes()).is_ok());
}

/// Far more than linear time needs, and far less than quadratic time needs.
const IN_PROPORTION: Duration = Duration::from_secs(10);

#[test]
fn a_card_with_many_interfaces_takes_linear_time() {
    let interfaces: Vec<_> = (0..50_000).map(|number| format!(r#"{{"url":"{number}"}}"#)).collect();
    let json = format!(r#"{{"url":"a","additionalInterfaces":[{}]}}"#, interfaces.join(","));
    let began = Instant::now();
    let read = card::decode(json.as_bytes()).unwrap();
    assert_eq!(read.supported_interfaces.len(), 50_001);
    for version in Version::ALL {
        card::encode_for(&read, *version);
    }
    assert!(began.elapsed() < IN_PROPORTION, "{:?}", began.elapsed());
}

#[test]
fn an_event_full_of_line_breaks_takes_linear_time() {
    let data = format!("\"{}\"", "\u{2028}a\u{85}é".repeat(400_000));
    let (mut to, began) = (Vec::new(), Instant::now());
    sse::write_event(Some(1), data.as_bytes(), &mut to);
    assert_eq!(to, format!("id: 1\ndata: \"{}\"\n\n", "\\u2028a\\u0085é".repeat(400_000)).into_bytes());
    assert!(began.elapsed() < IN_PROPORTION, "{:?}", began.elapsed());
}

/// Text that resembles valid input.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "1",
        "-1.5e9",
        "true",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":",
        "\"method\":",
        "\"GetTask\"",
        "\"params\":",
        "\"message\":",
        "\"parts\":",
        "\"text\":\"a\"",
        "\"status\":",
        "\"task\":",
        "\"error\":",
        "\"result\":",
        "\\u",
        "\u{0}",
        "é",
        "/",
        "tasks",
        ":cancel",
        "%",
        "%C3",
        "?",
        "&",
        "=",
        "\n",
        "data: ",
        "id: ",
    ]);
    prop_oneof![
        prop::collection::vec(words, 0..24).prop_map(|words| words.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..64),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in almost()) {
        let (rpc, web) = (dialect(Version::V1_0).jsonrpc(), dialect(Version::V1_0).rest().unwrap());
        if let Ok(incoming) = jsonrpc::parse_request(&bytes) {
            let _ = rpc.decode_call(Method::GetTask, incoming.params);
        }
        let _ = jsonrpc::parse_response(rpc, &bytes);
        let _ = rest::parse_error(http::StatusCode::BAD_REQUEST, &bytes);
        for method in Method::ALL {
            let _ = rpc.decode_reply(method, &bytes);
        }
        let _ = rpc.decode_event(&bytes);
        let _ = card::decode(&bytes);
        let mut decoder = sse::Decoder::new(16);
        decoder.push(&bytes);
        while let Ok(Some(_)) = decoder.pop() {}
        if let Ok(text) = std::str::from_utf8(&bytes) {
            for (verb, path) in [("GET", format!("/{text}")), ("POST", format!("/tasks/{text}")), ("GET", format!("/tasks/{text}"))] {
                if let Ok(routed) = web.route(&verb.parse().unwrap(), &path) {
                    let _ = rest::decode_call(web, &routed, Some(text), Some(rest::CONTENT_TYPE), &bytes);
                }
            }
            let _ = nuncio_wire::negotiate::declared(Some(text), Some(text));
            let _ = text.parse::<Version>();
        }
    }
}

/// Messages use the terms of the protocol, not the names of Rust types.
#[cfg(all(feature = "v0-1", feature = "v0-3"))]
#[test]
fn errors_of_older_versions_name_no_types_of_rust() {
    let message = |part: &str| format!(r#"{{"id":"t","message":{{"messageId":"m","role":"user","parts":[{part}]}}}}"#);
    let hook = |hook: &str| format!(r#"{{"id":"t","taskId":"t","pushNotificationConfig":{hook}}}"#);
    let push = Method::CreateTaskPushNotificationConfig;
    let mut told = Vec::new();
    for version in [Version::V0_1, Version::V0_3] {
        let rpc = dialect(version).jsonrpc();
        for (method, params) in [
            (Method::SendMessage, message("null")),
            (Method::SendMessage, message(r#"{"kind":"file","file":7}"#)),
            (Method::SendMessage, r#"{"id":"t","message":7}"#.to_owned()),
            (Method::SendMessage, "7".to_owned()),
            (Method::GetTask, "7".to_owned()),
            (push, "7".to_owned()),
            (push, hook("7")),
            (push, hook(r#"{"url":"http://a","authentication":7}"#)),
            (push, hook(r#"{"url":"http://a","authentication":{"schemes":[7]}}"#)),
        ] {
            let raw = serde_json::value::RawValue::from_string(params).unwrap();
            told.push(rpc.decode_call(method, Some(&raw)).unwrap_err().to_string());
        }
        for answer in ["7", r#"{"status":7}"#, r#"{"status":{"state":"working","message":7}}"#, r#"{"artifact":7}"#] {
            told.extend(rpc.decode_event(answer.as_bytes()).err().map(|error| error.to_string()));
            told.extend(rpc.decode_reply(Method::GetTask, answer.as_bytes()).err().map(|error| error.to_string()));
        }
        for answer in ["7", r#"{"error":7}"#] {
            told.push(jsonrpc::parse_response(rpc, answer.as_bytes()).unwrap_err().to_string());
        }
    }
    for told in told {
        assert!(!told.contains("struct ") && !told.contains("enum "), "{told}");
    }
}
