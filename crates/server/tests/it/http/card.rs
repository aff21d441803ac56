//! The agent card: addresses, caching, and values that must not be in a card.

use nuncio_auth::Tokens;
use nuncio_model::{
    AgentCard,
    card::{AgentCardSignature, AgentInterface},
};
use nuncio_server::{AllowedHost, BindError, Binding, GrpcUrl, Server, Version, Versions};
use serde_json::{Value, json};

use super::{
    Running,
    agent::{card, engine},
    client::Answer,
};

const PATH: &str = "/.well-known/agent-card.json";

/// The URLs of the newest version.
fn urls(card: &Value) -> Vec<&str> {
    let interfaces = card["supportedInterfaces"].as_array().unwrap().iter();
    interfaces.filter(|it| it["protocolVersion"] == "1.0").map(|it| it["url"].as_str().unwrap()).collect()
}

async fn get(running: &Running, headers: &[(&str, &str)]) -> Answer {
    let get = running.send("GET", PATH).without("a2a-version");
    headers.iter().fold(get, |get, (name, value)| get.header(name, value)).fetch().await
}

/// A server that answers for every host, like a server with several names.
async fn any_host() -> Running {
    Running::with(|builder| builder.allowed_hosts([AllowedHost::any()])).await
}

#[tokio::test]
async fn the_card_lists_urls_on_its_own_origin_and_grpc_on_request() {
    let running = Running::start().await;
    let card = get(&running, &[]).await.json();
    let origin = format!("http://127.0.0.1:{}", running.address.port());
    assert_eq!(urls(&card), [format!("{origin}/"), origin.clone()]);
    let is_own = |url: &Value| url.as_str().unwrap().starts_with(&origin);
    let interfaces = card["supportedInterfaces"].as_array().unwrap().iter();
    let older = card["additionalInterfaces"].as_array().unwrap().iter();
    assert!(interfaces.chain(older).all(|it| is_own(&it["url"])) && is_own(&card["url"]), "{card}");

    let only = Running::with(|builder| builder.bindings([Binding::HttpJson])).await;
    let card = get(&only, &[]).await.json();
    assert_eq!((urls(&card).len(), &card["preferredTransport"]), (1, &json!("HTTP+JSON")), "{card}");
    let answer = only.rpc("ListTasks", &json!({})).fetch().await;
    assert!(answer.json()["result"].is_object(), "a binding that is not listed is served: {answer:?}");

    let elsewhere = "https://grpc.example:8443".parse::<GrpcUrl>().unwrap();
    let running = Running::with(|builder| builder.grpc_url(elsewhere)).await;
    assert_eq!(urls(&get(&running, &[]).await.json())[2], "https://grpc.example:8443");
}

#[tokio::test]
async fn a_card_without_an_interface_is_refused() {
    let builder = Server::builder(engine().build()).versions(Versions::only([Version::V0_1]));
    let refused = builder.bindings([Binding::HttpJson, Binding::Grpc]).bind("127.0.0.1:0").await.err();
    assert!(matches!(refused, Some(BindError::Bindings)), "{refused:?}");
    let named = AgentCard { supported_interfaces: vec![AgentInterface::new("https://a.example", "JSONRPC")], ..card() };
    let builder = Server::builder(engine().card(named).build()).bindings([]);
    assert!(builder.bind("127.0.0.1:0").await.is_ok(), "a card that names its interfaces needs none of ours");
}

/// A server for every host, with all three bindings in its card.
async fn listing_all() -> Running {
    Running::with(|builder| builder.bindings(Binding::ALL).allowed_hosts([AllowedHost::any()])).await
}

#[tokio::test]
async fn the_card_names_all_bindings_at_the_address_of_the_client() {
    let running = listing_all().await;
    let answer = get(&running, &[]).await;
    assert_eq!((answer.status, answer.media_type()), (200, "application/json"));
    let port = running.address.port();
    assert_eq!(
        answer.json()["supportedInterfaces"].as_array().unwrap()[..3],
        [
            json!({"url": format!("http://127.0.0.1:{port}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}),
            json!({"url": format!("http://127.0.0.1:{port}"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}),
            json!({"url": format!("127.0.0.1:{port}"), "protocolBinding": "GRPC", "protocolVersion": "1.0"}),
        ]
    );
    let named = get(&running, &[("host", "agent.test")]).await.json();
    assert_eq!(urls(&named), ["http://agent.test/", "http://agent.test", "agent.test:80"]);
}

#[tokio::test]
async fn the_card_never_names_the_unspecified_address() {
    let running = listing_all().await;
    let local = format!("127.0.0.1:{}", running.address.port());
    for host in ["0.0.0.0:8080", "[::]:8080", "user@evil.test", "", "a b"] {
        let answer = get(&running, &[("host", host)]).await;
        if answer.status == 200 {
            assert_eq!(urls(&answer.json())[2], local, "{host}");
        }
    }
}

#[tokio::test]
async fn the_card_has_a_strong_tag_of_its_content() {
    let running = any_host().await;
    let first = get(&running, &[]).await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() == 34, "{tag}");
    assert_eq!(first.header("cache-control"), "public, max-age=300");
    for tags in [tag.clone(), format!("\"x\", {tag}"), "*".to_owned(), format!("W/{tag}")] {
        let again = get(&running, &[("if-none-match", &tags)]).await;
        assert_eq!((again.status, &*again.body, again.header("etag")), (304, &b""[..], &*tag), "{tags}");
        assert_eq!(again.header("content-type"), "");
    }
    let modified = first.header("last-modified").to_owned();
    assert!(modified.ends_with(" GMT"), "{modified}");
    assert_eq!(get(&running, &[("if-modified-since", &modified)]).await.status, 304);
    for (name, value) in [
        ("if-none-match", "\"other\""),
        ("if-modified-since", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ("if-modified-since", "garbage"),
    ] {
        let answer = get(&running, &[(name, value)]).await;
        assert_eq!((answer.status, &answer.body), (200, &first.body), "{name}: {value}");
    }
    let both = get(&running, &[("if-none-match", "\"other\""), ("if-modified-since", &modified)]).await;
    assert_eq!(both.status, 200, "the tag decides");
    assert_ne!(get(&running, &[("host", "other.test")]).await.header("etag"), tag);
}

#[tokio::test]
async fn the_card_answers_head_and_names_the_allowed_verbs() {
    let running = Running::start().await;
    let get = get(&running, &[]).await;
    let head = running.send("HEAD", PATH).fetch().await;
    assert_eq!((head.status, &*head.body), (200, &b""[..]));
    for name in ["etag", "content-length", "content-type"] {
        assert_eq!(head.header(name), get.header(name));
    }
    let answer = running.send("POST", PATH).fetch().await;
    assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD, OPTIONS"));
    answer.rest_error();
    assert_eq!(running.send("OPTIONS", PATH).fetch().await.status, 204);
}

#[tokio::test]
async fn the_public_url_is_in_the_card_and_its_prefix_is_routed() {
    let url = "https://agent.example/some/prefix/".parse().unwrap();
    let running = Running::with(|builder| builder.public_url(url).bindings(Binding::ALL)).await;
    let expected = ["https://agent.example/some/prefix/", "https://agent.example/some/prefix", "agent.example:443"];
    for path in [PATH, &format!("/some/prefix{PATH}")] {
        assert_eq!(urls(&running.send("GET", path).fetch().await.json()), expected);
    }
    for path in ["/tasks", "/some/prefix/tasks"] {
        assert_eq!(running.send("GET", path).fetch().await.status, 200, "{path}");
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    for path in ["/", "/some/prefix", "/some/prefix/"] {
        let answer = running.send("POST", path).json(&call).fetch().await;
        assert!(answer.json()["result"].is_object(), "{path}");
    }
    assert_eq!(running.send("GET", "/some/prefixed/tasks").fetch().await.status, 404);
}

#[tokio::test]
async fn forwarded_headers_count_only_if_the_proxy_is_trusted() {
    let forwarded = [
        ("x-forwarded-proto", "https, http"),
        ("x-forwarded-host", "agent.example, inner"),
        ("x-forwarded-prefix", "/agents/one/"),
    ];
    let running = Running::start().await;
    let local = format!("http://127.0.0.1:{}/", running.address.port());
    assert_eq!(urls(&get(&running, &forwarded).await.json())[0], local);
    let running = Running::with(|builder| builder.trust_forwarded(true).bindings(Binding::ALL)).await;
    let answer = get(&running, &forwarded).await;
    assert!(answer.header("vary").contains("X-Forwarded-Host"));
    let expected = ["https://agent.example/agents/one/", "https://agent.example/agents/one", "agent.example:443"];
    assert_eq!(urls(&answer.json()), expected);
    let standard =
        get(&running, &[("forwarded", r#"for=192.0.2.1;Proto=https;host="agent.example:8443", for=10.0.0.1"#)]).await;
    assert_eq!(urls(&standard.json())[0], "https://agent.example:8443/");
    let port = get(
        &running,
        &[("x-forwarded-proto", "https"), ("x-forwarded-host", "a.example"), ("x-forwarded-port", "8443")],
    )
    .await;
    assert_eq!(urls(&port.json())[2], "a.example:8443");
    for (name, value) in
        [("x-forwarded-prefix", "//evil.test"), ("x-forwarded-prefix", "x"), ("x-forwarded-host", "0.0.0.0")]
    {
        let local = format!("http://127.0.0.1:{}/", running.address.port());
        assert_eq!(urls(&get(&running, &[(name, value)]).await.json())[0], local, "{name}: {value}");
    }
}

#[tokio::test]
async fn the_card_declares_the_security_schemes() {
    let tokens = Tokens::new().with("alice", "made-up").unwrap();
    let running = Running::with(|builder| builder.authenticator(tokens)).await;
    let card = get(&running, &[]).await.json();
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"bearer": {}}}, {"schemes": {"apiKey": {}}}]));
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"], json!({"scheme": "Bearer"}));
    assert_eq!(card["capabilities"]["extendedAgentCard"], true);
    let open = get(&Running::start().await, &[]).await.json();
    assert!(open.get("securitySchemes").is_none() && open.get("securityRequirements").is_none());
    assert_eq!(open["capabilities"]["extendedAgentCard"], false);
}

#[tokio::test]
async fn existing_values_of_the_card_remain() {
    let mut with_interfaces = card();
    with_interfaces.supported_interfaces = vec![AgentInterface::new("https://elsewhere.example", "JSONRPC")];
    let running = Running::of(engine().card(with_interfaces).build(), |builder| builder).await;
    assert_eq!(urls(&get(&running, &[]).await.json()), ["https://elsewhere.example"]);
    let mut signed = card();
    signed.signatures.push(AgentCardSignature::default());
    let running = Running::of(engine().card(signed).build(), |builder| builder).await;
    assert!(urls(&get(&running, &[]).await.json()).is_empty());
}

#[test]
fn an_invalid_public_url_has_a_reason() {
    use nuncio_server::PublicUrl;
    for (url, reason) in [
        ("agent.example", "it must begin with https:// or http://"),
        ("ftp://agent.example", "it must begin with https:// or http://"),
        ("https://0.0.0.0", "no client can reach the host"),
        ("https://0x0", "no client can reach the host"),
        ("https://agent.example/?a=b", "it must not have a query or a fragment"),
        ("https://agent.example/#a", "it must not have a query or a fragment"),
        ("https://exa mple", "it is not a URL"),
    ] {
        let said = url.parse::<PublicUrl>().unwrap_err().to_string();
        assert_eq!(said, format!("`{url}` cannot be the public URL: {reason}"));
    }
    assert_eq!("https://agent.example/a/".parse::<PublicUrl>().unwrap().to_string(), "https://agent.example/a");
}

#[tokio::test]
async fn missing_capabilities_of_a_card_are_those_of_the_server() {
    let shown = async |card: AgentCard| {
        let running = Running::of(engine().card(card).build(), |builder| builder).await;
        let streams = running.rpc("SendStreamingMessage", &super::agent::message("hi")).fetch().await;
        let is_stream = streams.media_type() == "text/event-stream";
        (get(&running, &[]).await.json()["capabilities"].clone(), is_stream)
    };
    let (capabilities, streams) = shown(AgentCard::new("n", "d")).await;
    assert_eq!((&capabilities["streaming"], &capabilities["pushNotifications"]), (&json!(true), &json!(true)));
    assert!(streams);
    let mut restricted = AgentCard::new("n", "d");
    restricted.capabilities.streaming = Some(false);
    restricted.capabilities.push_notifications = Some(false);
    let (capabilities, streams) = shown(restricted).await;
    assert_eq!((&capabilities["streaming"], &capabilities["pushNotifications"]), (&json!(false), &json!(false)));
    assert!(!streams);
}

#[tokio::test]
async fn the_extended_card_has_a_tag() {
    let running =
        Running::with(|builder| builder.authenticator(Tokens::new().with("alice", "of-alice").unwrap())).await;
    let get = |tag: Option<&str>| {
        let get = running.send("GET", "/extendedAgentCard").header("authorization", "Bearer of-alice");
        if let Some(tag) = tag { get.header("if-none-match", tag) } else { get }
    };
    let first = get(None).fetch().await;
    assert_eq!((first.status, first.media_type()), (200, "application/a2a+json"));
    assert_eq!(first.header("cache-control"), "private, max-age=300");
    let tag = first.header("etag");
    assert_eq!(tag.len(), 34, "{tag}");
    let again = get(Some(tag)).fetch().await;
    assert_eq!((again.status, again.header("etag"), again.body.len()), (304, tag, 0));
    assert_eq!(get(Some("\"other\"")).fetch().await.body, first.body);
}
