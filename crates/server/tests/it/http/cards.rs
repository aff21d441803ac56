//! The cards for readers of every version, at both paths.

use nuncio_model::card::{AgentCardSignature, AgentInterface, binding};
use nuncio_server::Binding;
use nuncio_wire::{Version, Versions, card::decode, dialect};
use serde_json::Value;

use super::{
    Running,
    agent::{card, engine},
    client::Answer,
};

const PATH: &str = "/.well-known/agent-card.json";
const LEGACY: &str = "/.well-known/agent.json";

async fn get(running: &Running, path: &str) -> Answer {
    running.send("GET", path).without("a2a-version").fetch().await
}

async fn speaking(versions: Versions) -> Running {
    Running::with(|builder| builder.versions(versions)).await
}

/// The newest version whose readers use another path or other members.
fn older() -> Option<Version> {
    Version::ALL.iter().copied().rfind(|version| !version.is_declared())
}

#[tokio::test]
async fn the_card_names_every_version_on_every_binding_newest_first() {
    let running = Running::with(|builder| builder.bindings(Binding::ALL)).await;
    let port = running.address.port();
    let mut expected = Vec::new();
    for version in Version::ALL.iter().rev() {
        let dialect = dialect(*version);
        let mut add = |url: String, binding: &str| expected.push((url, binding.to_owned(), version.to_string()));
        add(format!("http://127.0.0.1:{port}/"), binding::JSONRPC);
        if dialect.rest().is_some() {
            add(format!("http://127.0.0.1:{port}"), binding::HTTP_JSON);
        }
        if dialect.grpc().is_some() {
            add(format!("127.0.0.1:{port}"), binding::GRPC);
        }
    }
    let card = decode(&get(&running, PATH).await.body).unwrap();
    let named = card.supported_interfaces.into_iter();
    let named: Vec<_> = named.map(|it| (it.url, it.protocol_binding, it.protocol_version)).collect();
    assert_eq!(named, expected);
}

#[tokio::test]
async fn the_card_has_only_the_newest_version_if_only_that_version_is_enabled() {
    let running = speaking(Versions::only([Version::V1_0])).await;
    let card = get(&running, PATH).await.json();
    for member in ["url", "preferredTransport", "protocolVersion", "additionalInterfaces"] {
        assert_eq!(card.get(member), None);
    }
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(interfaces.iter().all(|it| it["protocolVersion"] == "1.0"), "{card}");
    let answer = get(&running, LEGACY).await;
    assert_eq!((answer.status, &answer.rest_error()["status"]), (404, &Value::from("NOT_FOUND")));
    let head = running.send("HEAD", LEGACY).fetch().await;
    assert_eq!((head.status, &*head.body), (404, &b""[..]));
    assert_eq!(running.send("POST", LEGACY).fetch().await.status, 405);
}

#[tokio::test]
async fn readers_of_older_versions_find_their_card_at_the_old_path() {
    if older().is_none() {
        return;
    }
    let running = Running::start().await;
    let (now, before) = (get(&running, PATH).await, get(&running, LEGACY).await);
    assert_eq!((before.status, before.media_type()), (200, "application/json"));
    let url = format!("http://127.0.0.1:{}/", running.address.port());
    let (now, legacy) = (now.json(), before.json());
    assert_eq!((&now["url"], &legacy["url"]), (&Value::from(url.clone()), &Value::from(url)));
    assert!(legacy.get("supportedInterfaces").is_none(), "{legacy}");
    let read = decode(&before.body).unwrap();
    let spoken: Version = read.supported_interfaces[0].protocol_version.parse().unwrap();
    assert!(!spoken.is_declared());
    for name in ["streaming", "pushNotifications"] {
        assert_eq!(legacy["capabilities"][name], now["capabilities"][name], "{name}");
    }
}

#[tokio::test]
async fn each_path_of_the_card_has_its_own_tag() {
    if older().is_none() {
        return;
    }
    let running = Running::start().await;
    let mut tags = Vec::new();
    for path in [PATH, LEGACY] {
        let first = get(&running, path).await;
        let tag = first.header("etag").to_owned();
        assert!(first.header("cache-control").starts_with("public"), "{path}");
        let again = running.send("GET", path).header("if-none-match", &tag).fetch().await;
        assert_eq!((again.status, &*again.body), (304, &b""[..]), "{path}");
        tags.push(tag);
    }
    assert_ne!(tags[0], tags[1]);
    let other = running.send("GET", LEGACY).header("if-none-match", &tags[0]).fetch().await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn a_card_with_only_the_newest_version_has_no_older_form() {
    let mut own = card();
    own.supported_interfaces = vec![AgentInterface::new("https://elsewhere.example", binding::JSONRPC)];
    let running = Running::of(engine().card(own).build(), |builder| builder).await;
    assert_eq!(get(&running, PATH).await.json().get("url"), None);
    assert_eq!(get(&running, LEGACY).await.status, 404);
}

#[tokio::test]
async fn a_signed_card_is_not_changed_and_has_no_older_form() {
    let mut signed = card();
    signed.supported_interfaces = Version::ALL
        .iter()
        .map(|version| AgentInterface {
            protocol_version: version.to_string(),
            ..AgentInterface::new("https://elsewhere.example", binding::JSONRPC)
        })
        .collect();
    signed.signatures.push(AgentCardSignature::default());
    let expected = serde_json::to_value(&signed).unwrap();
    let running = Running::of(engine().card(signed).build(), |builder| builder).await;
    assert_eq!(get(&running, PATH).await.json(), expected);
    let legacy = get(&running, LEGACY).await;
    assert_eq!(legacy.status, if older().is_some() { 200 } else { 404 });
    assert_eq!(legacy.json().get("signatures"), None);
}
