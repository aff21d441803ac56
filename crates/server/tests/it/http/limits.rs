//! Limits of size, number and time.

use std::time::{Duration, Instant};

use nuncio_server::Limits;
use serde_json::{Value, json};

use super::{
    Running,
    agent::{engine, message},
    client::{Raw, reason, until},
};

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    let mut limits = Limits::default();
    change(&mut limits);
    Running::with(|builder| builder.limits(limits)).await
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_in_the_error_format_of_the_binding() {
    let running = limited(|limits| limits.body = 1000).await;
    let large = message(&"x".repeat(1000));
    let rpc = running.rpc("SendMessage", &large).fetch().await;
    assert_eq!((rpc.status, rpc.media_type()), (413, "application/json"));
    assert_eq!(reason(&rpc.json()["error"]), "PAYLOAD_TOO_LARGE");
    let rest = running.send("POST", "/message:send").json(&large).fetch().await;
    assert_eq!((rest.status, reason(&rest.rest_error())), (413, "PAYLOAD_TOO_LARGE"));
    let (rpc, rest) = (&rpc.json()["error"]["data"], &rest.rest_error()["details"]);
    assert_eq!((&rpc[0]["metadata"]["limit"], &rest[0]["metadata"]["limit"]), (&"body".into(), &"body".into()));
    assert!(running.call("SendMessage", &message(&"x".repeat(700))).await["task"].is_object());
    let mut raw = Raw::connect(running.address).await;
    raw.write(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    raw.write(&format!("258\r\n{0}\r\n258\r\n{0}\r\n", "x".repeat(600))).await;
    assert!(raw.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 413 "));
}

/// A client that writes its whole body before it reads must get the answer, not a broken connection.
#[tokio::test]
async fn an_oversized_body_without_a_length_is_read_before_it_is_refused() {
    let running = limited(|limits| limits.body = 1000).await;
    let mut raw = Raw::connect(running.address).await;
    raw.write(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..16 * 20 {
        raw.write(&chunk).await;
    }
    raw.write("0\r\n\r\n").await;
    let head = raw.read_until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
}

#[tokio::test]
async fn messages_of_many_megabytes_pass_by_default() {
    let running = Running::start().await;
    let text = "x".repeat(12 * 1024 * 1024);
    let task = running.task(&text).await;
    assert_eq!(task["artifacts"][0]["parts"][0]["text"].as_str().unwrap().len(), text.len());
}

#[tokio::test]
async fn a_body_that_does_not_arrive_times_out() {
    let running = limited(|limits| limits.body_time = Duration::from_millis(100)).await;
    for path in ["/", "/message:send"] {
        let mut raw = Raw::connect(running.address).await;
        let head =
            "HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: 100";
        raw.write(&format!("POST {path} {head}\r\n\r\n{{")).await;
        let answer = raw.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
        assert!(answer.contains("DEADLINE_EXCEEDED") && answer.contains(r#""limit":"body_time""#), "{answer}");
        assert!(answer.contains("the body did not arrive within 100ms"), "{answer}");
    }
}

#[tokio::test]
async fn a_head_that_does_not_arrive_closes_the_connection() {
    let running = limited(|limits| limits.head_time = Duration::from_millis(100)).await;
    for begin in ["", "G", "GET /tasks HTTP/1.1\r\nhost: localhost\r\nslow: ", "PRI * HTTP/2.0\r\n\r\nSM"] {
        let (mut raw, time) = (Raw::connect(running.address).await, Instant::now());
        raw.write(begin).await;
        raw.read_to_end().await;
        let elapsed = time.elapsed();
        assert!(elapsed >= Duration::from_millis(90) && elapsed < Duration::from_secs(5), "{begin:?}: {elapsed:?}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_stream_is_not() {
    let running = limited(|limits| limits.head_time = Duration::from_millis(100)).await;
    let mut raw = Raw::connect(running.address).await;
    raw.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(raw.read_to_end().await.ends_with("alive\n"));
    let mut feed = running.stream("slow 400").await;
    assert_eq!(feed.rest().await.len(), 3);
}

#[tokio::test]
async fn concurrent_requests_over_the_limit_are_503_and_health_answers() {
    let running = limited(|limits| limits.requests = 1).await;
    let blocked = tokio::spawn(running.rpc("SendMessage", &message("silent")).fetch());
    until(async || running.send("GET", "/tasks").fetch().await.status == 503).await;
    let rpc = running.rpc("ListTasks", &json!({})).fetch().await;
    assert_eq!((rpc.status, rpc.header("retry-after"), rpc.media_type()), (503, "1", "application/json"));
    assert_eq!(reason(&rpc.json()["error"]), "UNAVAILABLE");
    for path in ["/healthz", "/readyz", "/.well-known/agent-card.json"] {
        assert_eq!(running.send("GET", path).fetch().await.status, 200);
    }
    blocked.abort();
    until(async || running.send("GET", "/tasks").fetch().await.status == 200).await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let running = limited(|limits| limits.connections = 1).await;
    let first = Raw::connect(running.address).await;
    let mut second = Raw::connect(running.address).await;
    second.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    let mut answer = tokio::spawn(async move { second.read_to_end().await });
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut answer).await.is_err());
    drop(first);
    assert!(answer.await.unwrap().ends_with("alive\n"));
}

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let running = limited(|limits| (limits.connections, limits.connections_per_address) = (3, 2)).await;
    let first = Raw::connect(running.address).await;
    let second = Raw::connect(running.address).await;
    let mut third = Raw::connect(running.address).await;
    assert_eq!(third.read_to_end().await, "", "it is closed");
    let from = |address: &str| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(running.address)
    };
    // On Linux the whole range 127.0.0.0/8 is on the loopback interface.
    if cfg!(target_os = "linux") {
        let mut other = from("127.0.0.2").await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut other, b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut other, &mut answer).await.unwrap();
        assert!(answer.ends_with("alive\n"), "{answer}");
    }
    drop((first, second));
    until(async || {
        let mut raw = Raw::connect(running.address).await;
        raw.write("GET /healthz HTTP/1.0\r\n\r\n").await;
        raw.read_to_end().await.ends_with("alive\n")
    })
    .await;
}

#[tokio::test]
async fn bytes_that_are_not_http_do_no_harm() {
    let running = Running::start().await;
    for garbage in ["GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
        let mut raw = Raw::connect(running.address).await;
        raw.write(garbage).await;
        let answer = raw.read_to_end().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{garbage:?}: {answer}");
    }
    assert_eq!(running.send("GET", "/healthz").fetch().await.status, 200);
}

/// Every binding reports a temporary error with the time for a repetition, at every stage of a call. The tests of gRPC
/// check gRPC.
#[tokio::test]
async fn an_unreachable_store_is_unavailable_with_retry_after() {
    let running = Running::of(engine().store(crate::store::away().await).build(), |builder| builder).await;
    let retry_delay = |error: &Value| {
        let details = error.get("data").or_else(|| error.get("details")).unwrap().as_array().unwrap();
        let retry = details.iter().find(|it| it["@type"] == "type.googleapis.com/google.rpc.RetryInfo").unwrap();
        retry["retryDelay"].clone()
    };
    // A stream has not begun if its first event cannot be stored (section 3.1.2 "Send Streaming Message").
    for (method, params) in
        [("GetTask", json!({"id": "t"})), ("SendMessage", message("hello")), ("SendStreamingMessage", message("hello"))]
    {
        let error = running.error(method, &params).await;
        assert_eq!((reason(&error), retry_delay(&error)), ("UNAVAILABLE", json!("1s")), "{method}");
    }
    for answer in [
        running.send("GET", "/tasks/t").fetch().await,
        running.send("POST", "/message:send").json(&message("hello")).fetch().await,
        running.send("POST", "/message:stream").json(&message("hello")).fetch().await,
    ] {
        assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
        let error = answer.rest_error();
        assert_eq!((reason(&error), retry_delay(&error)), ("UNAVAILABLE", json!("1s")));
    }
}

/// Over JSON-RPC, 0.3 reports every error of a streaming call as the only event of a stream.
#[tokio::test]
async fn an_error_before_the_first_event_is_reported_in_older_versions_too() {
    let running = Running::of(engine().store(crate::store::away().await).build(), |builder| builder).await;
    let is_told = |error: &Value| error["message"].as_str().is_some_and(|told| told.contains("store is unavailable"));

    let message =
        json!({"messageId": "m", "kind": "message", "role": "user", "parts": [{"kind": "text", "text": "hi"}]});
    let mut feed = running.rpc("message/stream", &json!({"message": message})).without("a2a-version").open().await;
    let events = feed.rest().await;
    let error: Value = serde_json::from_str(&events[0].data).unwrap();
    assert!(events.len() == 1 && is_told(&error["error"]), "{error}");

    let message = json!({"role": "user", "parts": [{"type": "text", "text": "hi"}]});
    let old = running.rpc("tasks/sendSubscribe", &json!({"id": "t", "message": message})).without("a2a-version");
    let answer = old.fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "application/json"));
    assert!(is_told(&answer.json()["error"]), "{answer:?}");

    let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}});
    let web = running.send("POST", "/v1/message:stream").without("a2a-version").json(&message).fetch().await;
    assert_eq!((web.status, web.media_type()), (503, "application/json"));
}
