//! The agent card. Its security schemes have the form of 1.0. All other members have the form of the JSON card of 0.3.

use std::collections::BTreeMap;

use nuncio_model::{
    AgentCard as ModelCard, Error, Value,
    card::{AgentCardSignature, AgentExtension, AgentProvider, OAuthFlows, SecurityRequirement, SecurityScheme},
};

use super::message;
use crate::{card, dialect::Version, json};

message! {
    AgentCard {
        1 name: String = implicit "name",
        2 description: String = implicit "description",
        3 url: String = implicit "url",
        4 provider: Option<AgentProvider> = presence "provider",
        5 version: String = implicit "version",
        6 documentation_url: String = implicit "documentationUrl",
        7 capabilities: AgentCapabilities = always "capabilities",
        8 security_schemes: BTreeMap<String, SecurityScheme> = map "securitySchemes",
        9 security: Vec<SecurityRequirement> = repeated "security",
        10 default_input_modes: Vec<String> = repeated "defaultInputModes",
        11 default_output_modes: Vec<String> = repeated "defaultOutputModes",
        12 skills: Vec<AgentSkill> = repeated "skills",
        13 supports_authenticated_extended_card: bool = implicit "supportsAuthenticatedExtendedCard",
        14 preferred_transport: String = implicit "preferredTransport",
        15 additional_interfaces: Vec<AgentInterface> = repeated "additionalInterfaces",
        16 protocol_version: String = implicit "protocolVersion",
        17 signatures: Vec<AgentCardSignature> = repeated "signatures",
        18 icon_url: String = implicit "iconUrl",
    }

    AgentInterface {
        1 url: String = implicit "url",
        2 transport: String = implicit "transport",
    }

    AgentCapabilities {
        1 streaming: bool = implicit "streaming",
        2 push_notifications: bool = implicit "pushNotifications",
        3 extensions: Vec<AgentExtension> = repeated "extensions",
    }

    AgentSkill {
        1 id: String = implicit "id",
        2 name: String = implicit "name",
        3 description: String = implicit "description",
        4 tags: Vec<String> = repeated "tags",
        5 examples: Vec<String> = repeated "examples",
        6 input_modes: Vec<String> = repeated "inputModes",
        7 output_modes: Vec<String> = repeated "outputModes",
        8 security: Vec<SecurityRequirement> = repeated "security",
    }
}

impl AgentCard {
    /// The card, converted from the JSON card of a version. The security schemes are converted separately, because the
    /// JSON card has another form for them.
    pub(in crate::v0_3) fn new(card: &ModelCard, version: Version) -> Result<Self, Error> {
        let json = card::encode_for(card, version);
        let mut to: Self = serde_json::from_slice(&json).map_err(Error::internal)?;
        // The JSON card has only the schemes and facts that the version defines.
        let document: Value = serde_json::from_slice(&json).map_err(Error::internal)?;
        let schemes = card.security_schemes.iter().filter_map(|(name, scheme)| {
            let known = document.get("securitySchemes")?.get(name)?;
            Some((name.clone(), down(scheme.clone(), known)))
        });
        to.security_schemes = schemes.collect();
        Ok(to)
    }

    /// The card of the model. Fails with `InvalidAgentResponse`.
    pub(in crate::v0_3) fn into_card(self) -> Result<ModelCard, Error> {
        let mut document = Vec::with_capacity(2048);
        json::write(&self, &mut document);
        let mut card = card::decode(&document)?;
        // The flags cannot be absent in the proto.
        let capabilities = &mut card.capabilities;
        for flag in
            [&mut capabilities.streaming, &mut capabilities.push_notifications, &mut capabilities.extended_agent_card]
        {
            flag.get_or_insert_default();
        }
        Ok(card)
    }
}

/// Removes facts that only later versions define from a scheme. `known` is the scheme in the JSON card.
fn down(mut scheme: SecurityScheme, known: &Value) -> SecurityScheme {
    if let SecurityScheme::OAuth2(oauth2) = &mut scheme {
        oauth2.oauth2_metadata_url.take_if(|_| known.get("oauth2MetadataUrl").is_none());
        match &mut oauth2.flows {
            OAuthFlows::AuthorizationCode(flow) => flow.pkce_required = false,
            flows @ OAuthFlows::DeviceCode(_) => *flows = OAuthFlows::Unknown,
            _ => {}
        }
    }
    scheme
}
