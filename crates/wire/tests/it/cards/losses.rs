//! The facts that a card loses when it passes through an older version: exactly those in the table of
//! `docs/versions.md`.

use std::{collections::BTreeSet, sync::Arc};

use nuncio_model::{
    AgentCard, Method, Reply,
    card::{AgentInterface, OAuthFlows, SecurityScheme},
};
use nuncio_wire::{
    Version,
    card::{decode, encode_for},
    dialect,
};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    losses::{About, Ledger, Way, hold},
    proto::round_trip::any_card,
    v0_1::schema,
};

/// Any card with interfaces of this version.
pub(crate) fn any_of(version: &'static str) -> impl Strategy<Value = AgentCard> {
    let versions = prop_oneof![Just(version.to_owned()), Just(format!("{version}.0"))];
    let bindings = prop::sample::select(vec!["JSONRPC", "GRPC", "HTTP+JSON", "urn:own"]);
    let tenant = prop::option::of("[a-z]{1,3}");
    let interfaces = prop::collection::btree_map("https://[a-z]{1,3}", (bindings, versions, tenant), 1..4);
    (any_card(), interfaces).prop_map(|(mut card, interfaces)| {
        let interfaces = interfaces.into_iter().map(|(url, (binding, version, tenant))| AgentInterface {
            protocol_version: version,
            tenant: tenant.map(Into::into),
            ..AgentInterface::new(url, binding)
        });
        card.supported_interfaces = interfaces.collect();
        card
    })
}

/// A card with security facts that older versions do not have.
fn with_newer_security(mut card: AgentCard) -> AgentCard {
    let pkce =
        json!({"authorizationCode": {"authorizationUrl": "a", "tokenUrl": "t", "scopes": {}, "pkceRequired": true}});
    let device = json!({"deviceCode": {"deviceAuthorizationUrl": "d", "tokenUrl": "t", "scopes": {}}});
    for (name, scheme) in [
        ("pkce", json!({"oauth2SecurityScheme": {"flows": pkce}})),
        ("device", json!({"oauth2SecurityScheme": {"flows": device}})),
        ("key", json!({"apiKeySecurityScheme": {"location": "Header", "name": "k"}})),
    ] {
        card.security_schemes.insert(name.to_owned(), serde_json::from_value(scheme).unwrap());
    }
    card
}

fn cards(version: &'static str) -> impl Strategy<Value = AgentCard> {
    (any_of(version), any::<bool>())
        .prop_map(|(card, is_newer)| if is_newer { with_newer_security(card) } else { card })
}

/// Facts that no older version has.
fn of_card(ledger: &Ledger, card: &mut AgentCard, version: &str) {
    ledger.lose("AgentCard.signatures", &mut card.signatures, Vec::new());
    for interface in &mut card.supported_interfaces {
        ledger.lose("AgentInterface.tenant", &mut interface.tenant, None);
        ledger.lose("AgentInterface.protocolVersion", &mut interface.protocol_version, version.to_owned());
    }
    let (inputs, outputs) = (&mut card.default_input_modes, &mut card.default_output_modes);
    for (name, modes) in [("AgentCard.defaultInputModes", inputs), ("AgentCard.defaultOutputModes", outputs)] {
        if modes.is_empty() {
            ledger.lose(name, modes, vec!["text/plain".to_owned()]);
        }
    }
}

/// Security schemes and facts about them that 0.3 does not have.
fn of_schemes(ledger: &Ledger, card: &mut AgentCard) {
    card.security_schemes.retain(|_, scheme| match scheme {
        SecurityScheme::Unknown => false,
        SecurityScheme::OAuth2(oauth2) => match oauth2.flows {
            OAuthFlows::DeviceCode(_) => {
                ledger.saw("OAuthFlows.deviceCode");
                false
            }
            OAuthFlows::Unknown => false,
            _ => true,
        },
        _ => true,
    });
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(oauth2) = scheme
            && let OAuthFlows::AuthorizationCode(flow) = &mut oauth2.flows
        {
            ledger.lose("AuthorizationCodeOAuthFlow.pkceRequired", &mut flow.pkce_required, false);
        }
    }
}

/// Flags that a version cannot leave unset.
fn of_flags(ledger: &Ledger, card: &mut AgentCard) {
    let capabilities = &mut card.capabilities;
    for (name, flag) in [
        ("AgentCapabilities.streaming", &mut capabilities.streaming),
        ("AgentCapabilities.pushNotifications", &mut capabilities.push_notifications),
    ] {
        let left = flag.or(Some(false));
        ledger.lose(name, flag, left);
    }
}

/// Facts that 0.2 does not have.
fn of_0_2(ledger: &Ledger, card: &mut AgentCard) {
    card.security_schemes.retain(|_, scheme| !matches!(scheme, SecurityScheme::MutualTls(_)));
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(oauth2) = scheme {
            ledger.lose("OAuth2SecurityScheme.oauth2MetadataUrl", &mut oauth2.oauth2_metadata_url, None);
        }
    }
    for skill in &mut card.skills {
        ledger.lose("AgentSkill.securityRequirements", &mut skill.security_requirements, Vec::new());
    }
    // Readers of 0.2 can assume that the first interface is JSON-RPC.
    card.supported_interfaces.sort_by_key(|it| it.protocol_binding != "JSONRPC");
}

/// The older form of an API key scheme writes the place of the key in lower case.
fn of_keys(ledger: &Ledger, card: &mut AgentCard) {
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::ApiKey(key) = scheme {
            let location = key.location.to_ascii_lowercase();
            ledger.lose("APIKeySecurityScheme.location", &mut key.location, location);
        }
    }
}

#[test]
fn json_cards_lose_exactly_the_documented_fields() {
    hold((Way::Kinded, About::Cards), 256, &cards("0.3"), |ledger, mut card| {
        let there_and_back = decode(&encode_for(&card, Version::V0_3)).unwrap();
        of_card(ledger, &mut card, "0.3.0");
        of_schemes(ledger, &mut card);
        of_keys(ledger, &mut card);
        prop_assert_eq!(there_and_back, card);
        Ok(())
    });
    hold((Way::Kinded, About::Cards), 256, &cards("0.2"), |ledger, mut card| {
        let there_and_back = decode(&encode_for(&card, Version::V0_2)).unwrap();
        of_card(ledger, &mut card, "0.2.6");
        of_schemes(ledger, &mut card);
        of_keys(ledger, &mut card);
        of_0_2(ledger, &mut card);
        prop_assert_eq!(there_and_back, card);
        Ok(())
    });
}

/// The extended card as a client receives it over HTTP+JSON and over gRPC.
fn extended(card: &AgentCard, version: Version) -> [AgentCard; 2] {
    let (method, reply) = (Method::GetExtendedAgentCard, Reply::Card(card.clone().into()));
    let (rest, grpc) = (dialect(version).rest().unwrap(), dialect(version).grpc().unwrap());
    let (mut body, mut bytes) = (Vec::new(), Vec::new());
    rest.encode_reply(method, &reply, &mut body).unwrap();
    grpc.encode_reply(method, &reply, &mut bytes).unwrap();
    [rest.decode_reply(method, &body), grpc.decode_reply(method, &bytes)].map(|reply| match reply {
        Ok(Reply::Card(card)) => Arc::unwrap_or_clone(card),
        other => panic!("{other:?}"),
    })
}

/// Facts that gRPC of 0.3 and 0.2 cannot leave unset or cannot carry.
fn of_grpc(ledger: &Ledger, card: &mut AgentCard) {
    of_flags(ledger, card);
    let extends = card.capabilities.extended_agent_card.or(Some(false));
    ledger.lose("AgentCapabilities.extendedAgentCard", &mut card.capabilities.extended_agent_card, extends);
    for (name, url) in
        [("AgentCard.documentationUrl", &mut card.documentation_url), ("AgentCard.iconUrl", &mut card.icon_url)]
    {
        let left = url.clone().filter(|url| !url.is_empty());
        ledger.lose(name, url, left);
    }
}

#[test]
fn grpc_and_http_json_cards_lose_exactly_the_documented_fields() {
    hold((Way::Proto, About::Cards), 256, &cards("0.3"), |ledger, mut card| {
        let [over_rest, over_grpc] = extended(&card, Version::V0_3);
        of_card(ledger, &mut card, "0.3.0");
        of_schemes(ledger, &mut card);
        prop_assert_eq!(&over_rest, &card);
        of_grpc(ledger, &mut card);
        prop_assert_eq!(over_grpc, card);
        Ok(())
    });
    hold((Way::Proto, About::Cards), 256, &cards("0.2"), |ledger, mut card| {
        let [over_rest, over_grpc] = extended(&card, Version::V0_2);
        of_card(ledger, &mut card, "0.2.6");
        of_schemes(ledger, &mut card);
        of_0_2(ledger, &mut card);
        let mut in_grpc = card.clone();
        of_keys(ledger, &mut card);
        prop_assert_eq!(&over_rest, &card);
        of_grpc(ledger, &mut in_grpc);
        prop_assert_eq!(over_grpc, in_grpc);
        Ok(())
    });
}

/// The names of the schemes that a card of 0.1 lists, in order, in the spelling in which they are read back.
fn named(card: &AgentCard) -> Vec<String> {
    let mut names: Vec<&String> = card.security_requirements.iter().flat_map(|it| it.schemes.keys()).collect();
    if names.is_empty() {
        names = card.security_schemes.keys().collect();
    }
    let mut seen = BTreeSet::new();
    let name = |scheme: &SecurityScheme| match scheme {
        SecurityScheme::ApiKey(_) => Some("apiKey".to_owned()),
        SecurityScheme::HttpAuth(http) => Some(http.scheme.trim().to_ascii_lowercase()).filter(|it| !it.is_empty()),
        SecurityScheme::OAuth2(_) => Some("oauth2".to_owned()),
        SecurityScheme::OpenIdConnect(_) => Some("openIdConnect".to_owned()),
        _ => None,
    };
    let schemes = names.into_iter().filter_map(|name| card.security_schemes.get(name));
    schemes.filter_map(name).filter(|name| seen.insert(name.clone())).collect()
}

#[test]
fn cards_of_0_1_lose_exactly_the_documented_fields() {
    hold((Way::Oldest, About::Cards), 256, &cards("0.1"), |ledger, mut card| {
        let document = encode_for(&card, Version::V0_1);
        schema::assert_is(&crate::spec::json(&document), "AgentCard");
        let mut there_and_back = decode(&document).unwrap();

        // The card lists the schemes. Each scheme alone is sufficient, and has the facts that a client needs.
        let names: Vec<_> = named(&card);
        let needed: Vec<_> = there_and_back.security_requirements.iter().flat_map(|it| it.schemes.keys()).collect();
        prop_assert_eq!(needed, names.iter().collect::<Vec<_>>());
        prop_assert!(there_and_back.security_requirements.iter().all(|it| it.schemes.len() == 1));
        prop_assert_eq!(there_and_back.security_schemes.len(), names.len());
        for scheme in there_and_back.security_schemes.values() {
            match scheme {
                SecurityScheme::ApiKey(key) => {
                    prop_assert_eq!(&key.location, &key.location.to_ascii_lowercase());
                }
                SecurityScheme::OAuth2(oauth2) => {
                    let is_less = match &oauth2.flows {
                        OAuthFlows::AuthorizationCode(flow) => !flow.pkce_required,
                        flows => !matches!(flows, OAuthFlows::DeviceCode(_)),
                    };
                    prop_assert!(is_less, "{:?}", oauth2);
                }
                _ => {}
            }
        }
        for scheme in card.security_schemes.values() {
            match scheme {
                SecurityScheme::ApiKey(key) if key.location != key.location.to_ascii_lowercase() => {
                    ledger.saw("APIKeySecurityScheme.location");
                }
                SecurityScheme::MutualTls(_) => ledger.saw("SecurityScheme.mtlsSecurityScheme"),
                SecurityScheme::OAuth2(oauth2) if oauth2.oauth2_metadata_url.is_some() => {
                    ledger.saw("OAuth2SecurityScheme.oauth2MetadataUrl");
                }
                SecurityScheme::OAuth2(oauth2) => match &oauth2.flows {
                    OAuthFlows::AuthorizationCode(flow) if flow.pkce_required => {
                        ledger.saw("AuthorizationCodeOAuthFlow.pkceRequired");
                    }
                    OAuthFlows::DeviceCode(_) => ledger.saw("OAuthFlows.deviceCode"),
                    _ => {}
                },
                _ => {}
            }
        }
        let (schemes, requirements) = (
            std::mem::take(&mut there_and_back.security_schemes),
            std::mem::take(&mut there_and_back.security_requirements),
        );
        ledger.lose("AgentCard.securitySchemes", &mut card.security_schemes, schemes);
        ledger.lose("AgentCard.securityRequirements", &mut card.security_requirements, requirements);
        (card.security_schemes, card.security_requirements) = Default::default();

        let mut first = card.supported_interfaces.clone();
        first.retain(|it| it.protocol_binding == "JSONRPC");
        if first.is_empty() {
            // A card of 0.1 needs an interface.
            first.clone_from(&card.supported_interfaces);
            for interface in &mut first {
                "JSONRPC".clone_into(&mut interface.protocol_binding);
            }
        }
        first.truncate(1);
        ledger.lose("AgentCard.supportedInterfaces", &mut card.supported_interfaces, first);
        of_card(ledger, &mut card, "0.1");
        of_flags(ledger, &mut card);
        ledger.lose("AgentCapabilities.extendedAgentCard", &mut card.capabilities.extended_agent_card, None);
        ledger.lose("AgentCapabilities.extensions", &mut card.capabilities.extensions, Vec::new());
        ledger.lose("AgentCard.iconUrl", &mut card.icon_url, None);
        for skill in &mut card.skills {
            ledger.lose("AgentSkill.securityRequirements", &mut skill.security_requirements, Vec::new());
        }
        prop_assert_eq!(there_and_back, card);
        Ok(())
    });
}
