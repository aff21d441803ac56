//! Writes cards for readers of each version.

use nuncio_model::{
    AgentCard,
    card::{AgentCardSignature, AgentInterface, SecurityScheme},
};
use nuncio_wire::{
    Version, Versions,
    card::{decode, encode, encode_for, encode_legacy},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{example, losses::any_of, reached, read};
use crate::{spec, v0_3::schema};

/// A card with all members and with interfaces of every version.
fn sample() -> AgentCard {
    let mut card = read(&example("v10-agent-card"));
    card.supported_interfaces.clear();
    for version in Version::ALL.iter().rev() {
        for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
            let mut interface = AgentInterface::new(format!("https://{version}.example/{binding}"), binding);
            version.as_str().clone_into(&mut interface.protocol_version);
            card.supported_interfaces.push(interface);
        }
    }
    let token = json!({"clientCredentials": {"tokenUrl": "https://id.example/token", "scopes": {}}});
    let http = json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}});
    let device = json!({"deviceCode": {"deviceAuthorizationUrl": "d", "tokenUrl": "t", "scopes": {}}});
    for (name, scheme) in [
        ("http", http),
        ("machine", json!({"oauth2SecurityScheme": {"flows": token, "oauth2MetadataUrl": "https://id.example"}})),
        ("device", json!({"oauth2SecurityScheme": {"flows": device}})),
        ("implicit", json!({"oauth2SecurityScheme": {"flows": {"implicit": {}}}})),
        ("password", json!({"oauth2SecurityScheme": {"flows": {"password": {}}}})),
    ] {
        card.security_schemes.insert(name.to_owned(), serde_json::from_value(scheme).unwrap());
    }
    card
}

fn json(document: &[u8]) -> Value {
    spec::json(document)
}

#[test]
fn each_example_card_survives_a_round_trip() {
    for (name, version) in [
        ("v03-agent-card", Version::V0_3),
        ("v03-jsonrpc-extended-card", Version::V0_3),
        ("v025-agent-card", Version::V0_2),
        ("v025-extended-card-http", Version::V0_2),
        ("v020-agent-card", Version::V0_2),
        ("v01-agent-card", Version::V0_1),
    ] {
        let mut expected = example(name);
        // The one member that 1.0 has no place for: in 0.1 it goes with the streams.
        let capabilities = expected["capabilities"].as_object_mut().unwrap();
        if version == Version::V0_1 && capabilities.get("streaming") == Some(&true.into()) {
            capabilities.insert("stateTransitionHistory".to_owned(), true.into());
        } else if version > Version::V0_1 {
            capabilities.remove("stateTransitionHistory");
        }
        let mut written = json(&encode_for(&read(&expected), version));
        if version == Version::V0_2 {
            // The last version of the 0.2 line. 0.2.0 did not have these members yet.
            assert_eq!(written["protocolVersion"], "0.2.6");
            for name in ["protocolVersion", "preferredTransport", "additionalInterfaces"] {
                match expected.get(name) {
                    Some(value) => written[name] = value.clone(),
                    None => drop(written.as_object_mut().unwrap().remove(name)),
                }
            }
        }
        assert_eq!(written, expected, "{name}");
    }
    let card = example("v10-agent-card");
    spec::assert_same(&encode_for(&read(&card), Version::V1_0), &card, "v10-agent-card");
}

#[test]
fn a_card_of_0_3_is_valid_and_has_only_members_of_0_3() {
    let card = json(&encode_for(&sample(), Version::V0_3));
    schema::assert_is(&card, "AgentCard");
    insta::assert_json_snapshot!(card);
    assert_eq!(reached(&read(&card)).len(), 3);
}

#[test]
fn cards_before_0_3_omit_client_certificates_and_skill_security() {
    let card = json(&encode_for(&sample(), Version::V0_2));
    schema::assert_is(&card, "AgentCard");
    assert_eq!((card["securitySchemes"].get("mtls"), card["skills"][0].get("security")), (None, None));
    assert_eq!(card["securitySchemes"]["machine"].get("oauth2MetadataUrl"), None);
    assert_eq!(card["protocolVersion"], "0.2.6");
    assert_eq!(card["url"], "https://0.2.example/JSONRPC");
}

#[test]
fn a_card_of_0_2_lists_json_rpc_first() {
    let mut card = sample();
    card.supported_interfaces.reverse();
    let written = json(&encode_for(&card, Version::V0_2));
    assert_eq!(
        (&written["url"], &written["preferredTransport"]),
        (&json!("https://0.2.example/JSONRPC"), &json!("JSONRPC"))
    );
    let written = json(&encode_for(&card, Version::V0_3));
    assert_eq!((&written["url"], &written["preferredTransport"]), (&json!("https://0.3.example/GRPC"), &json!("GRPC")));
}

#[test]
fn a_card_of_0_1_names_its_schemes() {
    let card = json(&encode_for(&sample(), Version::V0_1));
    insta::assert_json_snapshot!(card);
    let again = read(&card);
    assert_eq!(reached(&again), [("https://0.1.example/JSONRPC", "JSONRPC", "0.1")]);
    let names: Vec<_> = again.security_schemes.keys().collect();
    assert_eq!(names, ["apiKey", "openIdConnect"], "0.1 has no client certificates");
}

#[test]
fn one_document_is_read_by_1_0_and_0_3() {
    let card = sample();
    let document = json(&encode(&card, &Versions::default()));
    schema::assert_is(&without_1_0(document.clone()), "AgentCard");
    insta::assert_json_snapshot!(document);
    // A reader of 1.0 that ignores unknown members.
    let plain: AgentCard = serde_json::from_value({
        let mut document = document.clone();
        document.as_object_mut().unwrap().remove("security");
        document["skills"][0].as_object_mut().unwrap().remove("security");
        document
    })
    .unwrap();
    assert_eq!(plain, card);
    assert_eq!(read(&document), card);
    // A reader of 0.3 that ignores unknown members.
    assert_eq!(document["url"], "https://0.3.example/JSONRPC");
    assert_eq!(document["protocolVersion"], "0.3.0");
}

/// The members that a reader of 0.3 finds in a combined document.
fn without_1_0(mut document: Value) -> Value {
    let drop = |value: &mut Value, names: &[&str]| {
        value.as_object_mut().unwrap().retain(|name, _| !names.contains(&name.as_str()));
    };
    drop(&mut document, &["supportedInterfaces", "securityRequirements"]);
    drop(&mut document["capabilities"], &["extendedAgentCard"]);
    document["skills"].as_array_mut().unwrap().iter_mut().for_each(|it| drop(it, &["securityRequirements"]));
    let schemes = document.get_mut("securitySchemes").and_then(Value::as_object_mut);
    for scheme in schemes.into_iter().flat_map(serde_json::Map::values_mut) {
        scheme.as_object_mut().unwrap().retain(|name, _| !name.ends_with("SecurityScheme"));
    }
    document
}

#[test]
fn a_server_of_only_1_0_writes_only_members_of_1_0() {
    let card = sample();
    let pure = serde_json::to_value(&card).unwrap();
    assert_eq!(json(&encode(&card, &Versions::only([Version::V1_0]))), pure);
    assert_eq!(encode_legacy(&card, &Versions::only([Version::V1_0])), None);
    let mut newest = card;
    newest.supported_interfaces.truncate(3);
    let pure = serde_json::to_value(&newest).unwrap();
    assert_eq!(json(&encode(&newest, &Versions::default())), pure, "the card has no interface of an older version");
    assert_eq!(encode_legacy(&newest, &Versions::default()), None);
    let url = json(&encode_for(&newest, Version::V0_3))["url"].clone();
    assert_eq!(url, "https://1.0.example/JSONRPC", "a card of 0.3 needs a URL");
}

#[test]
fn a_server_of_only_an_older_version_writes_no_members_of_1_0() {
    for version in [Version::V0_3, Version::V0_2, Version::V0_1] {
        let document = encode(&sample(), &Versions::only([version]));
        assert_eq!(document, encode_for(&sample(), version));
        let document = json(&document);
        for name in ["supportedInterfaces", "securityRequirements"] {
            assert_eq!(document.get(name), None, "{version}");
        }
        assert_eq!(read(&document).supported_interfaces[0].protocol_version.parse(), Ok(version));
    }
}

#[test]
fn the_legacy_path_has_a_card_of_0_2_with_the_authentication_of_0_1() {
    let legacy = |versions: &[Version]| json(&encode_legacy(&sample(), &Versions::only(versions.to_vec())).unwrap());
    let all = legacy(Version::ALL);
    insta::assert_json_snapshot!(all);
    assert_eq!(all["protocolVersion"], "0.2.6");
    assert_eq!(all["authentication"]["schemes"], json!(["OpenIdConnect", "ApiKey"]));
    let third = legacy(&[Version::V0_3, Version::V1_0]);
    assert_eq!((&third["protocolVersion"], third.get("authentication")), (&json!("0.3.0"), None));
    let first = legacy(&[Version::V0_1, Version::V1_0]);
    assert_eq!(first, json(&encode_for(&sample(), Version::V0_1)));
}

#[test]
fn only_a_card_of_1_0_keeps_its_signatures() {
    let mut card = sample();
    card.signatures.push(AgentCardSignature { signature: "x".into(), ..AgentCardSignature::default() });
    assert_eq!(json(&encode(&card, &Versions::default())), serde_json::to_value(&card).unwrap());
    for document in [
        encode_legacy(&card, &Versions::default()).unwrap(),
        encode_for(&card, Version::V0_3),
        encode(&card, &Versions::only([Version::V0_3])),
    ] {
        assert_eq!(json(&document).get("signatures"), None);
    }
}

proptest! {
    #[test]
    fn any_card_is_valid_as_a_0_3_card_and_as_a_combined_document(mut card in any_of("0.3")) {
        card.signatures.clear();
        for scheme in card.security_schemes.values_mut() {
            if let SecurityScheme::ApiKey(key) = scheme {
                key.location = "Cookie".to_owned();
            }
        }
        schema::assert_is(&json(&encode_for(&card, Version::V0_3)), "AgentCard");
        schema::assert_is(&without_1_0(json(&encode(&card, &Versions::default()))), "AgentCard");
    }

    #[test]
    fn the_combined_document_loses_nothing(mut card in any_of("0.3")) {
        let read = decode(&encode(&card, &Versions::default())).unwrap();
        if card.signatures.is_empty() {
            card.security_schemes.retain(|_, scheme| *scheme != SecurityScheme::Unknown);
        }
        prop_assert_eq!(read, card);
    }
}
