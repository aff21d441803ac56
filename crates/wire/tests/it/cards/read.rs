//! Reads cards of any version as cards of 1.0.

use nuncio_model::{
    AgentCard,
    card::{AgentInterface, OAuthFlows, SecurityRequirement, SecurityScheme},
};
use nuncio_wire::{
    Version,
    card::{decode, meant},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{example, reached, read};

const RPC: &str = "https://green.example/rpc";
const REST: &str = "https://green.example/rest";

#[test]
fn a_card_of_1_0_is_read_unchanged() {
    let card = example("v10-agent-card");
    assert_eq!(read(&card), serde_json::from_value::<AgentCard>(card).unwrap());
}

#[test]
fn the_members_of_an_older_card_tell_its_version() {
    for (name, expected) in [
        ("v03-agent-card", vec![(RPC, "JSONRPC", "0.3.0"), (REST, "HTTP+JSON", "0.3.0")]),
        ("v03-jsonrpc-extended-card", vec![(RPC, "JSONRPC", "0.3.0"), (REST, "HTTP+JSON", "0.3.0")]),
        ("v025-agent-card", vec![(RPC, "JSONRPC", "0.2.5"), (REST, "HTTP+JSON", "0.2.5")]),
        ("v025-extended-card-http", vec![(RPC, "JSONRPC", "0.2.5"), (REST, "HTTP+JSON", "0.2.5")]),
        ("v020-agent-card", vec![(RPC, "JSONRPC", "0.2")]),
        ("v01-agent-card", vec![("https://green.example/", "JSONRPC", "0.1")]),
    ] {
        let card = read(&example(name));
        assert_eq!(reached(&card), expected, "{name}");
        assert_eq!(card.provider.unwrap().organization, "Leafworks", "{name}");
        assert_eq!((card.skills[0].id.as_str(), &card.skills[0].tags[..]), ("moisture", &["soil".to_owned()][..]));
        assert!(card.capabilities.streaming == Some(true) && card.capabilities.push_notifications == Some(true));
    }
}

#[test]
fn older_security_is_converted_to_1_0() {
    let card = read(&example("v03-agent-card"));
    assert_eq!(
        serde_json::to_value((&card.security_schemes, &card.security_requirements)).unwrap(),
        json!([
            {
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Leaf-Key"}},
                "mtls": {"mtlsSecurityScheme": {}},
                "oidc": {"openIdConnectSecurityScheme": {
                    "openIdConnectUrl": "https://id.example/.well-known/openid-configuration"
                }},
            },
            [{"schemes": {"oidc": {"list": ["openid"]}}}, {"schemes": {"key": {}, "mtls": {}}}],
        ])
    );
    assert_eq!(card.capabilities.extended_agent_card, Some(true));
}

#[test]
fn requirements_of_1_0_win_over_older_requirements() {
    let card = read(&json!({
        "supportedInterfaces": [{"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securityRequirements": [{"schemes": {"a": {}}}], "security": [{"b": []}],
        "securitySchemes": {"a": {
            "type": "http", "scheme": "Basic", "httpAuthSecurityScheme": {"scheme": "Bearer"}
        }},
        "skills": [{"id": "s", "security": [{"b": []}], "securityRequirements": [{"schemes": {"a": {}}}]}],
    }));
    assert_eq!(card.security_requirements, [SecurityRequirement::scheme("a")]);
    assert_eq!(card.skills[0].security_requirements, [SecurityRequirement::scheme("a")]);
    let SecurityScheme::HttpAuth(http) = &card.security_schemes["a"] else { panic!("{card:?}") };
    assert_eq!(http.scheme, "Bearer");
}

#[test]
fn several_flows_become_several_schemes() {
    let flow = json!({"tokenUrl": "https://id.example/token", "scopes": {"read": "Look"}});
    let mut card = example("v03-agent-card");
    card["securitySchemes"] = json!({"o": {"type": "oauth2", "flows": {
        "password": flow, "clientCredentials": flow, "implicit": null,
        "authorizationCode": {"authorizationUrl": "https://id.example/", "tokenUrl": "t", "scopes": {}},
    }}});
    card["security"] = json!([{"o": ["read"]}, {"o": [], "other": []}]);
    let card = read(&card);
    let kinds = card.security_schemes.iter().map(|(name, scheme)| {
        let SecurityScheme::OAuth2(scheme) = scheme else { panic!("{scheme:?}") };
        let kind = match &scheme.flows {
            OAuthFlows::AuthorizationCode(_) => "code",
            OAuthFlows::ClientCredentials(_) => "credentials",
            OAuthFlows::Password(_) => "password",
            other => panic!("{other:?}"),
        };
        (name.as_str(), kind)
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, [("o", "code"), ("o-clientCredentials", "credentials"), ("o-password", "password")]);
    assert_eq!(
        serde_json::to_value(&card.security_requirements).unwrap(),
        json!([
            {"schemes": {"o": {"list": ["read"]}}},
            {"schemes": {"o": {}, "other": {}}},
            {"schemes": {"o-clientCredentials": {"list": ["read"]}}},
            {"schemes": {"o-password": {"list": ["read"]}}},
        ])
    );
}

#[test]
fn authentication_of_0_1_becomes_schemes() {
    let mut card = example("v01-agent-card");
    assert_eq!(read(&card).security_requirements, [SecurityRequirement::scheme("bearer")]);
    let credentials = json!({"tokenUrl": "https://id.example/token", "scopes": {"a": "b"}, "name": "X-Leaf-Key"});
    card["authentication"] =
        json!({"schemes": ["Basic", "ApiKey", "OAuth2", "public"], "credentials": credentials.to_string()});
    assert_eq!(
        serde_json::to_value(read(&card).security_schemes).unwrap(),
        json!({
            "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-Leaf-Key"}},
            "basic": {"httpAuthSecurityScheme": {"scheme": "Basic"}},
            "oauth2": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {
                "tokenUrl": "https://id.example/token", "scopes": {"a": "b"}
            }}}},
        })
    );
    for (authentication, expected) in [
        (json!({"schemes": "Bearer"}), 1),
        (json!({"schemes": ["none"]}), 0),
        (json!({"schemes": [], "credentials": "not JSON"}), 0),
        (json!({"credentials": null}), 0),
        (json!("Bearer"), 0),
    ] {
        card["authentication"] = authentication;
        assert_eq!(read(&card).security_schemes.len(), expected, "{card}");
    }
}

#[test]
fn omitted_members_of_older_cards_get_defaults() {
    let card = read(&json!({
        "name": "a", "url": RPC, "version": "1", "provider": {"name": "Leafworks"}, "capabilities": {},
        "description": null, "iconUrl": null, "defaultOutputModes": ["text"],
        "skills": [{"id": "s", "name": "s", "outputModes": ["text", "image/png"]}],
    }));
    assert_eq!(reached(&card), [(RPC, "JSONRPC", "0.1")]);
    assert_eq!(
        (card.default_input_modes, card.default_output_modes),
        (vec!["text/plain".into()], vec!["text/plain".into()])
    );
    assert_eq!(card.skills[0].output_modes, ["text/plain", "image/png"]);
    assert_eq!(card.provider.unwrap().organization, "Leafworks");
    assert_eq!(card.description, "");
}

#[test]
fn duplicate_interfaces_are_removed() {
    let card = read(&json!({
        "name": "a", "url": RPC, "preferred_transport": "jsonrpc", "protocol_version": "0.3.0",
        "additional_interfaces": [
            {"url": RPC, "transport": "JSONRPC"}, {"url": RPC, "transport": "GRPC"}, {"url": RPC}, {"transport": "GRPC"}
        ],
    }));
    assert_eq!(reached(&card), [(RPC, "jsonrpc", "0.3.0"), (RPC, "GRPC", "0.3.0")]);
}

#[test]
fn the_members_of_a_card_imply_an_undeclared_version() {
    for (member, expected) in [
        (json!({"signatures": [{"protected": "e30", "signature": "x"}]}), "0.3"),
        (json!({"skills": [{"id": "s", "security": [{"a": []}]}]}), "0.3"),
        (json!({"preferredTransport": "GRPC"}), "0.2"),
        (json!({"capabilities": {"extensions": []}}), "0.2"),
        (json!({"supportsAuthenticatedExtendedCard": false}), "0.2"),
        (json!({"authentication": {"schemes": []}}), "0.1"),
        (json!({}), "0.1"),
        (json!({"protocolVersions": ["0.3", "0.2"]}), "0.3"),
        (json!({"protocolVersion": " 0.2.9 ", "signatures": []}), "0.2.9"),
    ] {
        let mut card = json!({"name": "a", "url": RPC});
        card.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
        let read = read(&card);
        assert_eq!(read.supported_interfaces[0].protocol_version, expected, "{card}");
        assert!(read.signatures.is_empty(), "the signature does not cover the converted card");
        let of_user = meant(card.to_string().as_bytes(), Version::LATEST);
        let is_declared = member.get("protocolVersion").or_else(|| member.get("protocolVersions")).is_some();
        assert_eq!(of_user.len(), usize::from(!is_declared), "{card}");
        assert!(of_user.iter().all(|it| it.url == RPC && it.protocol_version.is_empty()));
    }
    assert_eq!(meant(b"[]", Version::LATEST), []);
}

#[test]
fn a_card_with_authentication_can_be_meant_as_0_1() {
    let mut card = json!({"name": "a", "url": RPC, "protocolVersion": "0.2.6"});
    let of = |card: &Value, version: Version| {
        let meant = meant(card.to_string().as_bytes(), version);
        meant.into_iter().map(|it| (it.url, it.protocol_version)).collect::<Vec<_>>()
    };
    for version in Version::ALL {
        assert_eq!(of(&card, *version), [], "{version}");
    }
    card["authentication"] = json!({"schemes": []});
    for version in Version::ALL {
        let first = (version.as_str() == "0.1").then(|| (RPC.to_owned(), "0.1".to_owned()));
        assert_eq!(of(&card, *version), Vec::from_iter(first.clone()), "{version}");
        let mut beside = card.clone();
        beside["protocolVersion"].take();
        beside["supportedInterfaces"] =
            json!([{"url": REST, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}]);
        assert_eq!(of(&beside, *version), Vec::from_iter(first), "{version}");
    }
}

#[test]
fn a_card_of_two_versions_is_read_as_1_0() {
    let one = |version: &str| json!([{"url": REST, "protocolBinding": "HTTP+JSON", "protocolVersion": version}]);
    let mut card = example("v03-agent-card");
    card["supportedInterfaces"] = json!([]);
    assert_eq!(reached(&read(&card)).len(), 2, "an empty list counts as absent");
    card["supportedInterfaces"] = one("1.0");
    card["signatures"] = json!([{"protected": "e30", "signature": "x"}]);
    let older_too = read(&card);
    assert_eq!(
        reached(&older_too),
        [(REST, "HTTP+JSON", "1.0"), (RPC, "JSONRPC", "0.3.0"), (REST, "HTTP+JSON", "0.3.0")],
        "what only older members name comes last"
    );
    assert_eq!(older_too.signatures.len(), 1);
    card["supportedInterfaces"] = one("0.3");
    assert_eq!(reached(&read(&card)), [(REST, "HTTP+JSON", "0.3")]);
    card["supportedInterfaces"] = one("");
    card["protocolVersion"] = Value::Null;
    assert_eq!(reached(&read(&card)), [(REST, "HTTP+JSON", "")]);
}

#[test]
fn drafts_of_1_0_are_read() {
    let card = read(&json!({
        "name": "a", "protocolVersions": ["1.0", "0.3"], "supportsExtendedAgentCard": true,
        "supported_interfaces": [{"url": RPC, "transport": "jsonrpc"}],
        "security_schemes": {"b": {"type": "http", "scheme": "bearer"}}, "security_requirements": [{"b": []}],
    }));
    assert_eq!(reached(&card), [(RPC, "jsonrpc", "1.0")]);
    assert_eq!(card.capabilities.extended_agent_card, Some(true));
    assert_eq!(card.security_requirements, [SecurityRequirement::scheme("b")]);
    assert!(matches!(card.security_schemes["b"], SecurityScheme::HttpAuth(_)));
    let own = read(&json!({"supportsExtendedAgentCard": true, "capabilities": {"extendedAgentCard": false}}));
    assert_eq!(own.capabilities.extended_agent_card, Some(false));
}

#[test]
fn the_proto_json_of_0_3_is_read_too() {
    let card = read(&json!({
        "protocolVersion": "0.3.0", "url": "green.example:443", "preferredTransport": "GRPC",
        "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "query", "name": "key"}}},
        "security": [{"schemes": {"k": {}}}],
    }));
    assert_eq!(reached(&card), [("green.example:443", "GRPC", "0.3.0")]);
    assert_eq!(card.security_requirements, [SecurityRequirement::scheme("k")]);
    assert!(matches!(&card.security_schemes["k"], SecurityScheme::ApiKey(key) if key.location == "query"));
}

#[test]
fn a_document_that_is_not_a_card_is_refused_with_a_reason() {
    for (document, reason) in
        [("[]", "an object (AgentCard)"), ("{\"name\": 7}", "name"), ("{", "EOF"), ("\u{fffd}", "expected value")]
    {
        let error = decode(document.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), nuncio_model::ErrorKind::InvalidAgentResponse);
        assert!(error.message().contains(reason), "{error}");
    }
    assert_eq!(read(&json!({})).supported_interfaces, Vec::<AgentInterface>::new());
}

/// Any JSON value in the place of any other.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "url",
        "transport",
        "preferredTransport",
        "additionalInterfaces",
        "supportedInterfaces",
        "protocolVersion",
        "protocolVersions",
        "capabilities",
        "security",
        "securitySchemes",
        "skills",
        "authentication",
        "schemes",
        "credentials",
        "type",
        "flows",
        "oauth2SecurityScheme",
        "implicit",
        "password",
        "supportsExtendedAgentCard",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["", "oauth2", "http", "0.3", "https://a"]).prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_panics_the_card_reader(card in any_json()) {
        let card = card.to_string();
        let _ = decode(card.as_bytes());
        for version in Version::ALL {
            meant(card.as_bytes(), *version);
        }
    }
}
