//! The agent card: identity, abilities, requirements and addresses of an agent (section 4.4).

mod capabilities;
mod core_binding;
pub mod extension;
mod interface;
mod security;
mod signature;
mod skill;

use std::collections::BTreeMap;

pub use capabilities::{AgentCapabilities, AgentExtension};
pub use core_binding::{Binding, UnknownBinding};
pub use interface::{AgentInterface, binding};
pub use security::{
    APIKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
    OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
};
pub use signature::AgentCardSignature;
pub use skill::{AgentProvider, AgentSkill};

use crate::json::json_object;

json_object! {
    /// The self-description of an agent (section 4.4.1).
    pub struct AgentCard {
        /// The name, for people.
        pub name: String => required "name",
        /// The purpose of the agent, for people and for other agents.
        pub description: String => required "description",
        /// The addresses, in the agent's order of preference.
        pub supported_interfaces: Vec<AgentInterface> => required "supportedInterfaces" | "supported_interfaces",
        /// The operator of the agent.
        pub provider: Option<AgentProvider> => presence "provider",
        /// The agent's own version.
        pub version: String => required "version",
        /// Documentation for people.
        pub documentation_url: Option<String> => presence "documentationUrl" | "documentation_url",
        /// The optional parts of the protocol that the agent supports.
        pub capabilities: AgentCapabilities => required "capabilities",
        /// The ways to authenticate, by name.
        pub security_schemes: BTreeMap<String, SecurityScheme> => implicit "securitySchemes" | "security_schemes",
        /// The required schemes. A caller must satisfy one entry, with all schemes of the entry.
        pub security_requirements: Vec<SecurityRequirement> => implicit "securityRequirements" | "security_requirements" | "security",
        /// Accepted media types.
        pub default_input_modes: Vec<String> => required "defaultInputModes" | "default_input_modes",
        /// Media types of the answers.
        pub default_output_modes: Vec<String> => required "defaultOutputModes" | "default_output_modes",
        /// The abilities of the agent.
        pub skills: Vec<AgentSkill> => required "skills",
        /// Signatures over the card (section 8.4).
        pub signatures: Vec<AgentCardSignature> => implicit "signatures",
        /// An icon of the agent.
        pub icon_url: Option<String> => presence "iconUrl" | "icon_url",
    }
}

impl AgentCard {
    /// A card with a name and a description, version `1.0.0`, and text as input and output. The capabilities are unset,
    /// so that a server sets those that it supports; `Some(false)` switches a capability off.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".to_owned(),
            default_input_modes: vec!["text/plain".to_owned()],
            default_output_modes: vec!["text/plain".to_owned()],
            ..Self::default()
        }
    }

    /// Adds a skill.
    pub fn with_skill(mut self, skill: AgentSkill) -> Self {
        self.skills.push(skill);
        self
    }

    /// The extensions that the card declares, of those in the list, in the order of the card (section 4.6.2).
    pub fn active_extensions(&self, requested: &[Box<str>]) -> Vec<Box<str>> {
        let declared = self.capabilities.extensions.iter();
        declared.map(|extension| Box::from(&*extension.uri)).filter(|uri| requested.contains(uri)).collect()
    }

    /// Every media type that the agent or one of its skills produces.
    pub fn output_modes(&self) -> impl Iterator<Item = &str> {
        self.default_output_modes
            .iter()
            .chain(self.skills.iter().flat_map(|skill| &skill.output_modes))
            .map(String::as_str)
    }

    /// Every media type that the agent or one of its skills accepts.
    pub fn input_modes(&self) -> impl Iterator<Item = &str> {
        self.default_input_modes
            .iter()
            .chain(self.skills.iter().flat_map(|skill| &skill.input_modes))
            .map(String::as_str)
    }
}
