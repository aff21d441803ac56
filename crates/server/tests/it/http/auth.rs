//! Authentication of callers.

use futures_util::future::BoxFuture;
use http::request::Parts;
use nuncio_auth::{AuthError, Authenticator, Declaration, Tokens};
use nuncio_model::{Principal, card::AgentExtension};
use nuncio_server::{BindError, Server};
use nuncio_wire::{Version, Versions};
use serde_json::json;

use super::{
    Running,
    agent::{card, engine, message},
    client::reason,
};

fn tokens() -> Tokens {
    Tokens::new().with("alice", "of-alice").unwrap().with("bob", "of-bob").unwrap()
}

async fn secured() -> Running {
    Running::with(|builder| builder.authenticator(tokens())).await
}

#[tokio::test]
async fn callers_without_credentials_are_challenged_in_the_error_format_of_the_binding() {
    let running = secured().await;
    for header in [
        None,
        Some(("authorization", "Bearer wrong")),
        Some(("x-api-key", "wrong")),
        Some(("authorization", "Basic eDp5")),
    ] {
        let rpc = running.rpc("ListTasks", &json!({}));
        let rest = running.send("GET", "/tasks");
        let (rpc, rest) = match header {
            Some((name, value)) => (rpc.header(name, value), rest.header(name, value)),
            None => (rpc, rest),
        };
        let (rpc, rest) = (rpc.fetch().await, rest.fetch().await);
        assert_eq!((rpc.status, rpc.media_type()), (401, "application/json"));
        let document = rpc.json();
        assert_eq!((&document["jsonrpc"], &document["id"]), (&json!("2.0"), &json!(null)));
        assert_eq!((&document["error"]["code"], reason(&document["error"])), (&json!(-32091), "UNAUTHENTICATED"));
        assert_eq!((rest.status, reason(&rest.rest_error())), (401, "UNAUTHENTICATED"));
        for answer in [rpc, rest] {
            assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"a2a\"");
            assert!(!String::from_utf8_lossy(&answer.body).contains("wrong"));
        }
    }
}

#[tokio::test]
async fn every_path_except_card_and_health_requires_credentials() {
    let running = secured().await;
    for path in ["/tasks", "/nowhere", "/tenant/tasks", "/tasks/x:subscribe", "/extendedAgentCard"] {
        assert_eq!(running.send("GET", path).fetch().await.status, 401, "{path}");
    }
    for path in ["/.well-known/agent-card.json", "/healthz", "/readyz"] {
        assert_eq!(running.send("GET", path).fetch().await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn callers_see_only_their_own_tasks() {
    let running = secured().await;
    let sent = running.rpc("SendMessage", &message("ask")).header("authorization", "Bearer of-alice").fetch().await;
    let id = sent.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
    let get = |header: (&str, &str)| running.send("GET", &format!("/tasks/{id}")).header(header.0, header.1);
    assert_eq!(get(("x-api-key", "of-alice")).fetch().await.status, 200);
    let foreign = get(("authorization", "Bearer of-bob")).fetch().await;
    let missing = running.send("GET", "/tasks/no-such").header("authorization", "Bearer of-bob").fetch().await;
    assert_eq!((foreign.status, missing.status), (404, 404));
    let say = |answer: &super::client::Answer, id: &str| String::from_utf8_lossy(&answer.body).replace(id, "X");
    assert_eq!(say(&foreign, &id), say(&missing, "no-such"));
}

#[tokio::test]
async fn the_extended_card_is_for_authenticated_callers() {
    let versions = Versions::only([Version::V1_0]);
    let running =
        Running::with(|builder| builder.versions(versions).authenticator(tokens().with_anonymous(true))).await;
    assert_eq!(running.send("GET", "/tasks").fetch().await.status, 200, "anonymous callers are let in");
    let refused = running.send("GET", "/extendedAgentCard").fetch().await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Bearer realm=\"a2a\""));
    let refused = running.rpc("GetExtendedAgentCard", &json!({})).fetch().await;
    assert_eq!((refused.status, &refused.json()["id"]), (401, &json!(1)));
    let known = running.send("GET", "/extendedAgentCard").header("authorization", "Bearer of-bob").fetch().await;
    assert_eq!(known.json()["description"], "Does more for those it knows.");
    // Only its caller may cache the card; a refusal is not cached.
    assert!(known.header("cache-control").starts_with("private, max-age="), "{known:?}");
    assert_eq!(refused.header("cache-control"), "");
    assert!(known.json()["supportedInterfaces"].as_array().unwrap().len() >= 2);
    assert!(known.json()["securitySchemes"].is_object());
    let wrong = running.send("GET", "/tasks").header("authorization", "Bearer wrong").fetch().await;
    assert_eq!(wrong.status, 401, "wrong credentials are not anonymous");
}

#[tokio::test]
async fn an_open_agent_has_no_extended_card() {
    let running = Running::start().await;
    let error = running.error("GetExtendedAgentCard", &json!({})).await;
    assert_eq!(reason(&error), "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn an_open_agent_listens_on_loopback_alone() {
    let bind = |address: &'static str| Server::builder(engine().build()).bind(address);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = bind(address).await.err().unwrap();
        assert!(matches!(error, BindError::Open(_)), "{error:?}");
        assert!(error.to_string().contains("\nhint: give callers tokens"), "{error}");
    }
    assert!(bind("127.0.0.1:0").await.is_ok());
    let builder = Server::builder(engine().build());
    assert!(builder.authenticator(tokens()).bind("0.0.0.0:0").await.is_ok());
    assert!(Server::builder(engine().build()).allow_open(true).bind("0.0.0.0:0").await.is_ok());
}

#[tokio::test]
async fn a_card_that_some_clients_cannot_read_is_refused() {
    let params = |levels: usize| {
        let inner = (2..=levels).fold(json!(1), |inner, _| json!([inner]));
        Some(Box::new([("k".to_owned(), inner)].into_iter().collect()))
    };
    for levels in [30, 31] {
        let mut deep = card();
        deep.capabilities.extensions.push(AgentExtension {
            uri: "https://example.com/deep".to_owned(),
            params: params(levels),
            ..Default::default()
        });
        for engine in [engine().card(deep.clone()), engine().extended_card(deep.clone())] {
            match Server::builder(engine.build()).bind("127.0.0.1:0").await.err() {
                None => assert_eq!(levels, 30),
                Some(error) => {
                    let BindError::Card { extension, levels: most } = &error else { panic!("{error:?}") };
                    assert_eq!((&**extension, *most, levels), ("https://example.com/deep", 30, 31));
                }
            }
        }
    }
}

#[tokio::test]
async fn an_occupied_port_is_an_error_with_the_address() {
    let running = Running::start().await;
    let error = Server::builder(engine().build()).bind(running.address).await.err().unwrap();
    assert_eq!(error.to_string(), format!("cannot listen on {}", running.address));
}

/// A foreign authenticator with a bug.
struct Broken;

impl Authenticator for Broken {
    // Not an `async fn`, because an `async fn` panics only when its future is polled.
    fn authenticate<'a, 'b, 'c>(&'a self, _: &'b Parts) -> BoxFuture<'c, Result<Principal, AuthError>>
    where
        'a: 'c,
        'b: 'c,
    {
        panic!("out of order")
    }

    fn declaration(&self) -> Declaration {
        Declaration::default()
    }
}

#[tokio::test]
async fn a_panic_costs_its_request_and_not_the_connection() {
    let running = Running::with(|builder| builder.authenticator(Broken)).await;
    for _ in 0..2 {
        let answer = running.rpc("SendMessage", &message("hello")).fetch().await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (500, Some(-32603)), "{answer:?}");
    }
}

#[tokio::test]
async fn a_card_that_requires_credentials_is_refused_by_an_open_server() {
    use nuncio_model::card::{AgentSkill, SecurityRequirement};

    let asking = || {
        let mut asking = card();
        asking.security_requirements = vec![SecurityRequirement::scheme("oauth")];
        asking
    };
    let mut skilled = card();
    let mut skill = AgentSkill::new("s", "S", "");
    skill.security_requirements = vec![SecurityRequirement::scheme("oauth")];
    skilled.skills.push(skill);
    for (public, extended) in [(asking(), card()), (card(), asking()), (skilled, card())] {
        let builder = Server::builder(engine().card(public.clone()).extended_card(extended.clone()).build());
        let refused = builder.bind("127.0.0.1:0").await.err();
        assert!(matches!(refused, Some(BindError::Unenforced)), "{refused:?}");
        let builder = Server::builder(engine().card(public.clone()).extended_card(extended.clone()).build());
        let refused = builder.authenticator(tokens().with_anonymous(true)).bind("127.0.0.1:0").await.err();
        assert!(matches!(refused, Some(BindError::Unenforced)), "{refused:?}");
        let builder = Server::builder(engine().card(public.clone()).extended_card(extended.clone()).build());
        assert!(builder.authenticator(tokens()).bind("127.0.0.1:0").await.is_ok());
        let builder = Server::builder(engine().card(public).extended_card(extended).build());
        assert!(builder.allow_open(true).bind("127.0.0.1:0").await.is_ok(), "something before the server asks");
    }
    let mut optional = asking();
    optional.security_requirements.push(SecurityRequirement::default());
    assert!(Server::builder(engine().card(optional).build()).bind("127.0.0.1:0").await.is_ok());
}

#[tokio::test]
async fn failed_logins_of_an_address_are_limited() {
    let options = |builder: nuncio_server::Builder| {
        let mut limits = nuncio_server::Limits::default();
        limits.failed_logins = 3;
        builder.authenticator(tokens()).limits(limits).trust_forwarded(true)
    };
    let running = Running::with(options).await;
    let ask = async |secret: &str, from: &str| {
        let get = running.send("GET", "/tasks").header("authorization", format!("Bearer {secret}"));
        get.header("x-forwarded-for", from).fetch().await
    };
    for _ in 0..10 {
        assert_eq!(running.send("GET", "/tasks").fetch().await.status, 401, "who shows nothing guesses nothing");
    }
    for _ in 0..3 {
        assert_eq!(ask("wrong", "192.0.2.1").await.status, 401);
    }
    for secret in ["wrong", "of-alice"] {
        // A client can send the first value.
        let refused = ask(secret, "198.51.100.7, 192.0.2.1").await;
        assert_eq!((refused.status, reason(&refused.rest_error())), (429, "RESOURCE_EXHAUSTED"), "{secret}");
        assert!(refused.header("retry-after").parse::<u64>().unwrap() <= 20);
    }
    assert_eq!(ask("of-alice", "192.0.2.2").await.status, 200);
}
