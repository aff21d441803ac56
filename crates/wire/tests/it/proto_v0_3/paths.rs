//! Paths and verbs of HTTP+JSON before 1.0.

use http::Method as Verb;
use nuncio_model::{AgentCard, Method, Reply, card::AgentInterface};
use nuncio_wire::{RestDialect, Version, Versions, dialect, rest::RouteError};

use super::{rest, rest_reply};
use crate::spec;

/// The operation, and the ids in the path.
fn route(rest: &dyn RestDialect, verb: &Verb, path: &str) -> Result<(Method, String, String), RouteError> {
    let routed = rest.route(verb, path)?;
    assert_eq!(routed.tenant, None);
    let text = |id: Option<String>| id.unwrap_or_default();
    let config = routed.config_id.map(|id| id.to_string());
    Ok((routed.method, text(routed.task_id.map(|id| id.to_string())), text(config)))
}

#[test]
fn each_path_has_an_operation() {
    for (verb, path, method, task, config) in [
        (Verb::POST, "/v1/message:send", Method::SendMessage, "", ""),
        (Verb::POST, "/v1/message:stream", Method::SendStreamingMessage, "", ""),
        (Verb::GET, "/v1/tasks", Method::ListTasks, "", ""),
        (Verb::GET, "/v1/tasks/a%2Fb", Method::GetTask, "a/b", ""),
        (Verb::POST, "/v1/tasks/7:cancel", Method::CancelTask, "7", ""),
        (Verb::GET, "/v1/tasks/7:subscribe", Method::SubscribeToTask, "7", ""),
        (Verb::POST, "/v1/tasks/7:subscribe", Method::SubscribeToTask, "7", ""),
        (Verb::POST, "/v1/tasks/7/pushNotificationConfigs", Method::CreateTaskPushNotificationConfig, "7", ""),
        (Verb::POST, "/v1/task/7/pushNotificationConfigs", Method::CreateTaskPushNotificationConfig, "7", ""),
        (Verb::POST, "/v1/task/7/pushNotifications", Method::CreateTaskPushNotificationConfig, "7", ""),
        (Verb::GET, "/v1/tasks/7/pushNotificationConfigs", Method::ListTaskPushNotificationConfigs, "7", ""),
        (Verb::GET, "/v1/tasks/7/pushNotifications", Method::ListTaskPushNotificationConfigs, "7", ""),
        (Verb::GET, "/v1/tasks/7/pushNotificationConfigs/c", Method::GetTaskPushNotificationConfig, "7", "c"),
        (Verb::GET, "/v1/tasks/7/pushNotifications/c", Method::GetTaskPushNotificationConfig, "7", "c"),
        (Verb::DELETE, "/v1/tasks/7/pushNotificationConfigs/c", Method::DeleteTaskPushNotificationConfig, "7", "c"),
        (Verb::GET, "/v1/card", Method::GetExtendedAgentCard, "", ""),
    ] {
        for version in [Version::V0_2, Version::V0_3] {
            let found = route(dialect(version).rest().unwrap(), &verb, path).unwrap();
            assert_eq!(found, (method, task.to_owned(), config.to_owned()), "{verb} {path}");
        }
    }
}

#[test]
fn wrong_verbs_and_wrong_paths_are_distinguished() {
    for (verb, path, allow) in [
        (Verb::GET, "/v1/message:send", "POST"),
        (Verb::PUT, "/v1/message:stream", "POST"),
        (Verb::POST, "/v1/tasks", "GET"),
        (Verb::DELETE, "/v1/tasks/7", "GET"),
        (Verb::GET, "/v1/tasks/7:cancel", "POST"),
        (Verb::PUT, "/v1/tasks/7:subscribe", "GET, POST"),
        (Verb::PUT, "/v1/tasks/7/pushNotificationConfigs", "GET, POST"),
        (Verb::POST, "/v1/tasks/7/pushNotificationConfigs/c", "GET, DELETE"),
        (Verb::POST, "/v1/card", "GET"),
    ] {
        let refusal = rest().route(&verb, path).unwrap_err();
        assert_eq!(refusal.allow(), Some(allow), "{verb} {path}");
        assert_eq!(refusal.status(), 405);
    }
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/extendedAgentCard",
        "/message:send",
        "/tasks/7",
        "/v1/task/7",
        "/v1/x/tasks/7",
        "/v2/tasks/7",
        "/v1/tasks/7/other",
        "/agent/authenticatedExtendedCard",
    ] {
        assert!(matches!(rest().route(&Verb::GET, path), Err(RouteError::NotFound)), "{path}");
    }
}

#[test]
fn without_a_declared_version_the_path_decides() {
    let versions = Versions::default();
    let version_of = |declared, path: &str| {
        versions.for_path(declared, &Verb::GET, path).map(|(dialect, _)| dialect.dialect().version())
    };
    assert_eq!(version_of(None, "/v1/tasks/7").unwrap(), Version::V0_3);
    assert_eq!(version_of(None, "/v1/card").unwrap(), Version::V0_3);
    assert_eq!(version_of(None, "/agent/authenticatedExtendedCard").unwrap(), Version::V0_2);
    assert_eq!(version_of(Some("0.2"), "/v1/tasks/7").unwrap(), Version::V0_2);
    assert_eq!(version_of(Some("0.3.0"), "/v1/tasks/7").unwrap(), Version::V0_3);
    assert_eq!(version_of(Some("1.0"), "/tasks/7").unwrap(), Version::V1_0);
    // In 1.0, `v1` is a tenant.
    assert_eq!(version_of(Some("1.0"), "/v1/tasks/7").unwrap(), Version::V1_0);
    assert!(matches!(version_of(Some("0.3"), "/tasks/7"), Err(RouteError::Version(_))));
}

#[test]
fn the_extended_card_of_0_2_has_the_form_of_the_public_card() {
    let mut example: serde_json::Value = spec::file("examples/v025-extended-card-http.json");
    let body = example["response"]["body"].take();
    let v02 = dialect(Version::V0_2).rest().unwrap();
    let method = v02.route(&Verb::GET, "/agent/authenticatedExtendedCard").unwrap().method;
    let reply = v02.decode_reply(method, body.to_string().as_bytes()).unwrap();
    let mut written = Vec::new();
    v02.encode_reply(method, &reply, &mut written).unwrap();
    let Reply::Card(card) = &reply else { panic!("{reply:?}") };
    assert_eq!(spec::json(&written), spec::json(&nuncio_wire::card::encode_for(card, Version::V0_2)));
    let written = spec::json(&written);
    for member in ["name", "url", "securitySchemes", "security", "additionalInterfaces", "skills"] {
        assert_eq!(written[member], body[member], "{member}");
    }
}

#[test]
fn the_card_of_0_3_has_both_forms_of_its_security_schemes() {
    let body = serde_json::json!({
        "name": "a", "description": "d", "version": "1", "url": "https://a.example/", "protocolVersion": "0.3.0",
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "security": [{"key": []}],
    });
    // The Python SDK answers with a card in the form of JSON-RPC.
    let reply = rest().decode_reply(Method::GetExtendedAgentCard, body.to_string().as_bytes()).unwrap();
    let written = spec::json(&rest_reply(Method::GetExtendedAgentCard, &reply));
    assert_eq!(
        written["securitySchemes"]["key"],
        serde_json::json!({
            "type": "apiKey", "in": "header", "name": "X-Key",
            "apiKeySecurityScheme": {"location": "header", "name": "X-Key"},
        }),
    );
    assert_eq!(written["security"], body["security"]);
    assert_eq!((&written["url"], &written["protocolVersion"]), (&"https://a.example/".into(), &"0.3.0".into()));
}

#[test]
fn a_card_lists_the_interfaces_of_its_version() {
    let mut card = AgentCard::new("a", "d");
    card.supported_interfaces.push(AgentInterface::new("https://a.example/v1", "JSONRPC"));
    let mut older = AgentInterface::new("a.example:443", "GRPC");
    older.protocol_version = "0.3".to_owned();
    card.supported_interfaces.push(older);
    let written = spec::json(&rest_reply(Method::GetExtendedAgentCard, &Reply::Card(card.into())));
    assert_eq!((&written["url"], &written["preferredTransport"]), (&"a.example:443".into(), &"GRPC".into()));
    assert_eq!(written["supportedInterfaces"], serde_json::Value::Null);
}
