//! Requests of a page in a browser to a server that accepts callers without credentials: every route refuses them.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_auth::Tokens;
use nuncio_server::{Builder, Server};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{
    Running,
    agent::{engine, message},
    client::{Answer, Outgoing, Raw},
};

/// A route: verb, path, version in the head, body.
type Route = (&'static str, &'static str, Option<&'static str>, Value);

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// All routes that start work.
fn senders() -> Vec<Route> {
    let kinded = json!({"message": {
        "kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}],
    }});
    let typed = json!({"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
    let content = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}});
    vec![
        ("POST", "/", Some("1.0"), rpc("SendMessage", &message("hi"))),
        ("POST", "/", Some("1.0"), rpc("SendStreamingMessage", &message("hi"))),
        ("POST", "/?A2A-Version=1.0", None, rpc("SendMessage", &message("hi"))),
        ("POST", "/", None, rpc("message/send", &kinded)),
        ("POST", "/", Some("0.3"), rpc("message/stream", &kinded)),
        ("POST", "/", Some("0.2"), rpc("message/send", &kinded)),
        ("POST", "/", None, rpc("tasks/send", &typed)),
        ("POST", "/", None, rpc("tasks/sendSubscribe", &typed)),
        ("POST", "/", Some("1.0"), rpc("a2a.sendMessage", &message("hi"))),
        ("POST", "/message:send", Some("1.0"), message("hi")),
        ("POST", "/message:stream", Some("1.0"), message("hi")),
        ("POST", "/message:send?A2A-Version=1.0", None, message("hi")),
        ("POST", "/message:stream?A2A-Version=1.0", None, message("hi")),
        ("POST", "/v1/message:send", None, content.clone()),
        ("POST", "/v1/message:stream", None, content),
        ("POST", "/v1/message:send", None, kinded),
    ]
}

/// All routes that read, or need no body.
fn readers() -> Vec<Route> {
    vec![
        ("GET", "/tasks", Some("1.0"), Value::Null),
        ("GET", "/tasks?A2A-Version=1.0", None, Value::Null),
        ("GET", "/tasks/t-1", Some("1.0"), Value::Null),
        ("GET", "/v1/tasks/t-1", None, Value::Null),
        ("GET", "/tasks/t-1:subscribe", Some("1.0"), Value::Null),
        ("POST", "/tasks/t-1:cancel", Some("1.0"), Value::Null),
        ("POST", "/tasks/t-1:cancel?A2A-Version=1.0", None, Value::Null),
        ("POST", "/v1/tasks/t-1:cancel", None, Value::Null),
        ("DELETE", "/tasks/t-1/pushNotificationConfigs/p", Some("1.0"), Value::Null),
        ("GET", "/nowhere/at/all", None, Value::Null),
        ("POST", "/", Some("1.0"), rpc("ListTasks", &json!({}))),
    ]
}

fn at(running: &Running, (verb, path, version, body): &Route) -> Outgoing {
    let mut outgoing = running.send(verb, path).without("a2a-version");
    if let Some(version) = version {
        outgoing = outgoing.header("a2a-version", version);
    }
    if body.is_null() { outgoing } else { outgoing.json(body) }
}

/// The message of an error in the format of the route's binding and version.
fn refused(route: &Route, answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{route:?}: {answer:?}");
    let document = answer.json();
    let is_rpc = route.1 == "/" || route.1.starts_with("/?");
    if is_rpc {
        assert_eq!((&document["jsonrpc"], &document["id"]), (&json!("2.0"), &Value::Null), "{route:?}");
        assert!(document["error"]["code"].as_i64().unwrap() < 0, "{document}");
    }
    let message = document["error"]["message"].as_str().or_else(|| document["message"].as_str());
    message.unwrap_or_else(|| panic!("{route:?}: {document}")).to_owned()
}

async fn tasks(running: &Running) -> Value {
    running.call("ListTasks", &json!({})).await["totalSize"].clone()
}

#[tokio::test]
async fn a_body_without_a_json_media_type_is_refused_on_every_route() {
    let running = Running::start().await;
    for route in senders() {
        for media_type in [
            None,
            Some(""),
            Some("text/plain"),
            Some("text/plain;charset=UTF-8"),
            Some("text/plain; application/json"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/octet-stream"),
            Some("json"),
        ] {
            let outgoing = at(&running, &route);
            let outgoing = match media_type {
                Some(media_type) => outgoing.header("content-type", media_type),
                None => outgoing.without("content-type"),
            };
            let said = refused(&route, &outgoing.fetch().await, 415);
            assert!(said.contains("Content-Type") && said.contains("json"), "{said}");
        }
    }
    assert_eq!(tasks(&running).await, 0, "nothing was begun");
    for route in senders() {
        for media_type in
            ["application/json", "application/a2a+json; charset=utf-8", "Application/JSON", "application/vnd.x+json"]
        {
            let answer = at(&running, &route).header("content-type", media_type).fetch().await;
            assert_eq!(answer.status, 200, "{route:?} {media_type}: {answer:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("\"error\""), "{route:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_request_without_a_body_needs_no_media_type() {
    let running = Running::start().await;
    for version in ["1.0", "0.3"] {
        let id = running.task("ask").await["id"].as_str().unwrap().to_owned();
        let path = if version == "1.0" { format!("/tasks/{id}:cancel") } else { format!("/v1/tasks/{id}:cancel") };
        let canceled = running.send("POST", &path).header("a2a-version", version).fetch().await;
        assert_eq!(canceled.status, 200, "{version}: {canceled:?}");
    }
}

/// Heads of requests from a page of another origin.
const FOREIGN: [&[(&str, &str)]; 7] = [
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
    &[("origin", "http://localhost:1")],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[("origin", "https://evil.example"), ("sec-fetch-site", "none")],
    &[("origin", "https://evil.example"), ("authorization", "Bearer x"), ("x-forwarded-host", "evil.example")],
];

fn with(outgoing: Outgoing, headers: &[(&str, &str)]) -> Outgoing {
    headers.iter().fold(outgoing, |outgoing, (name, value)| outgoing.header(name, value))
}

#[tokio::test]
async fn foreign_pages_are_refused_on_every_route() {
    let running = Running::start().await;
    let doors = [senders(), readers()].concat();
    for route in &doors {
        for headers in FOREIGN {
            let said = refused(route, &with(at(&running, route), headers).fetch().await, 403);
            assert!(said.contains("--cors-origin"), "{said}");
        }
    }
    assert_eq!(tasks(&running).await, 0, "nothing was begun");
    let own = format!("http://{}", running.address);
    for route in &doors {
        for headers in [&[("origin", &*own), ("sec-fetch-site", "same-origin")][..], &[("sec-fetch-site", "none")]] {
            assert_ne!(with(at(&running, route), headers).fetch().await.status, 403, "{route:?}");
        }
    }
}

#[tokio::test]
async fn pages_of_named_origins_may_call_every_route() {
    for (named, origin) in
        [("https://app.example", "https://app.example"), ("*", "https://any.example"), ("null", "null")]
    {
        let running = Running::with(|builder| builder.cors([named.parse().unwrap()])).await;
        for route in [senders(), readers()].concat() {
            let headers = [("origin", origin), ("sec-fetch-site", "cross-site")];
            let answer = with(at(&running, &route), &headers).fetch().await;
            assert_ne!(answer.status, 403, "{route:?}");
            assert_ne!(answer.header("access-control-allow-origin"), "");
        }
    }
}

#[tokio::test]
async fn public_routes_answer_and_the_browser_hides_the_answer() {
    let running = Running::start().await;
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/healthz", "/readyz"] {
        for headers in FOREIGN {
            let answer = with(running.send("GET", path), headers).fetch().await;
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, ""), "{path}");
        }
    }
}

#[tokio::test]
async fn an_open_server_on_loopback_answers_for_local_names_only() {
    let options = |builder: Builder| {
        builder
            .public_url("https://public.example/a".parse().unwrap())
            .allowed_hosts(["named.example".parse().unwrap()])
    };
    let running = Running::with(options).await;
    let card = ("GET", "/.well-known/agent-card.json", None, Value::Null);
    for route in [senders(), readers(), vec![card]].concat() {
        for host in
            ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"]
        {
            let said = refused(&route, &at(&running, &route).header("host", host).fetch().await, 421);
            assert!(said.contains("--allowed-host") && said.contains("--public-url"), "{said}");
        }
        for host in [
            "localhost",
            "agent.localhost:99",
            "127.0.0.1",
            "127.8.8.8:1",
            "[::1]:8080",
            "public.example",
            "Named.Example:80",
        ] {
            assert_ne!(at(&running, &route).header("host", host).fetch().await.status, 421, "{route:?} {host}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(running.send("GET", path).header("host", "10.0.0.1:8080").fetch().await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_host_in_the_address_of_a_request_is_checked_too() {
    let running = Running::start().await;
    for (target, host, status) in [
        ("http://evil.example/tasks", "localhost", "421"),
        ("http://localhost/tasks", "evil.example", "421"),
        ("http://localhost/tasks", "localhost", "200"),
    ] {
        let mut raw = Raw::connect(running.address).await;
        let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n");
        raw.write(&head).await;
        let answer = raw.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {host}: {answer}");
    }
    let stream = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for (authority, media_type, status, grpc) in [
        ("evil.example", "application/json", 421, None),
        ("localhost", "application/json", 200, None),
        ("evil.example", "application/grpc", 200, Some("9")),
    ] {
        let (verb, path) = if grpc.is_some() { ("POST", "/lf.a2a.v1.A2AService/ListTasks") } else { ("GET", "/tasks") };
        let request = Request::builder().method(verb).uri(format!("http://{authority}{path}"));
        let request = request.header("a2a-version", "1.0").header("content-type", media_type);
        let response = sender.send_request(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
        assert_eq!(response.status(), status, "{authority}");
        let code = response.headers().get("grpc-status").map(|code| code.to_str().unwrap().to_owned());
        assert_eq!(code.as_deref(), grpc);
        response.into_body().collect().await.unwrap();
    }
    let request = Request::post("http://localhost/lf.a2a.v1.A2AService/ListTasks");
    let request = request.header("content-type", "application/grpc").header("origin", "https://evil.example");
    let response = sender.send_request(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "7");
}

#[tokio::test]
async fn origins_are_checked_only_for_callers_without_credentials() {
    let tokens = || Tokens::new().with("alice", "of-alice").unwrap();
    let send = |running: &Running, headers: &[(&str, &str)]| {
        with(running.send("POST", "/message:send").json(&message("hi")), headers)
    };
    let alice = ("authorization", "Bearer of-alice");
    let evil = ("origin", "https://evil.example");
    let misled = ("host", "evil.example");

    let secured = Running::with(|builder| builder.authenticator(tokens())).await;
    assert_eq!(send(&secured, &[evil]).fetch().await.status, 401);
    for headers in [&[alice, evil][..], &[alice, misled]] {
        assert_eq!(send(&secured, headers).fetch().await.status, 200, "{headers:?}");
    }

    let mixed = Running::with(|builder| builder.authenticator(tokens().with_anonymous(true))).await;
    for (headers, status) in [(&[evil][..], 403), (&[misled], 421), (&[alice, evil], 200), (&[], 200)] {
        assert_eq!(send(&mixed, headers).fetch().await.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_public_server_checks_hosts_if_hosts_are_configured() {
    let bind = async |options: fn(Builder) -> Builder| {
        let builder = options(Server::builder(engine().build()).allow_open(true));
        Running::serving(builder.bind("0.0.0.0:0").await.unwrap())
    };
    let status = async |running: &Running, name: &str, value: &str| {
        let port = running.address.port();
        let outgoing = Outgoing::new(format!("127.0.0.1:{port}").parse().unwrap(), "GET", "/tasks");
        outgoing.header(name, value).fetch().await.status
    };
    let open = bind(|builder| builder).await;
    assert_eq!(status(&open, "host", "agent:8080").await, 200);
    assert_eq!(status(&open, "origin", "https://evil.example").await, 403);
    let named = bind(|builder| builder.allowed_hosts(["agent".parse().unwrap()])).await;
    assert_eq!(status(&named, "host", "agent:8080").await, 200);
    assert_eq!(status(&named, "host", "evil.example").await, 421);
}
