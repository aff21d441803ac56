//! The agent card of 0.1.

use std::collections::BTreeSet;

use nuncio_model::{
    AgentCard,
    card::{AgentProvider, AgentSkill, SecurityScheme},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{dialect::Version, json};

/// Writes the card. Its address is that of the interface for 0.1, else of the first for JSON-RPC, else the first.
pub(super) fn encode(card: &AgentCard) -> Vec<u8> {
    let mut to = Vec::with_capacity(1024);
    let schemes: BTreeSet<_> = card.security_schemes.values().filter_map(scheme_name).collect();
    json::write(
        &CardOut {
            name: &card.name,
            description: &card.description,
            url: address(card),
            provider: card.provider.as_ref(),
            version: &card.version,
            documentation_url: card.documentation_url.as_deref(),
            capabilities: CapabilitiesOut {
                streaming: card.capabilities.streams(),
                push_notifications: card.capabilities.pushes(),
                state_transition_history: false,
            },
            authentication: (!schemes.is_empty()).then_some(AuthenticationOut { schemes }),
            default_input_modes: &card.default_input_modes,
            default_output_modes: &card.default_output_modes,
            skills: card.skills.iter().map(SkillOut).collect(),
        },
        &mut to,
    );
    to
}

fn address(card: &AgentCard) -> &str {
    let interfaces = &card.supported_interfaces;
    let speaks_jsonrpc = |binding: &str| binding.eq_ignore_ascii_case(nuncio_model::card::binding::JSONRPC);
    let of_version = interfaces.iter().find(|it| it.protocol_version.parse() == Ok(Version::V0_1));
    let of_binding = || interfaces.iter().find(|it| speaks_jsonrpc(&it.protocol_binding));
    of_version.or_else(of_binding).or(interfaces.first()).map_or("", |it| &it.url)
}

fn scheme_name(scheme: &SecurityScheme) -> Option<&str> {
    match scheme {
        SecurityScheme::ApiKey(_) => Some("ApiKey"),
        SecurityScheme::HttpAuth(http) if http.scheme.eq_ignore_ascii_case("bearer") => Some("Bearer"),
        SecurityScheme::HttpAuth(http) if http.scheme.eq_ignore_ascii_case("basic") => Some("Basic"),
        SecurityScheme::HttpAuth(http) => Some(&http.scheme),
        SecurityScheme::OAuth2(_) => Some("OAuth2"),
        SecurityScheme::OpenIdConnect(_) => Some("OpenIdConnect"),
        _ => None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CardOut<'a> {
    name: &'a str,
    description: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    capabilities: CapabilitiesOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<AuthenticationOut<'a>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<SkillOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CapabilitiesOut {
    streaming: bool,
    push_notifications: bool,
    state_transition_history: bool,
}

#[derive(Serialize)]
struct AuthenticationOut<'a> {
    schemes: BTreeSet<&'a str>,
}

struct SkillOut<'a>(&'a AgentSkill);

impl Serialize for SkillOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let skill = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &skill.id)?;
        map.serialize_entry("name", &skill.name)?;
        map.serialize_entry("description", &skill.description)?;
        for (name, list) in [
            ("tags", &skill.tags),
            ("examples", &skill.examples),
            ("inputModes", &skill.input_modes),
            ("outputModes", &skill.output_modes),
        ] {
            if !list.is_empty() {
                map.serialize_entry(name, list)?;
            }
        }
        map.end()
    }
}
