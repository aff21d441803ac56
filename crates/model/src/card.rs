//! The agent card: what an agent is, can and wants (section 4.4), and where it is reached.

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
    /// What an agent says of itself (section 4.4.1).
    pub struct AgentCard {
        /// Its name, for people.
        pub name: String => required "name",
        /// What it does, for people and for other agents.
        pub description: String => required "description",
        /// Where it is reached, in its order of preference.
        pub supported_interfaces: Vec<AgentInterface> => required "supportedInterfaces" | "supported_interfaces",
        /// Who runs it.
        pub provider: Option<AgentProvider> => presence "provider",
        /// The agent's own version.
        pub version: String => required "version",
        /// Documentation for people.
        pub documentation_url: Option<String> => presence "documentationUrl" | "documentation_url",
        /// Which optional parts of the protocol it speaks.
        pub capabilities: AgentCapabilities => required "capabilities",
        /// The ways to authenticate, by name.
        pub security_schemes: BTreeMap<String, SecurityScheme> => implicit "securitySchemes" | "security_schemes",
        /// Which of them are needed: one entry, with all of its schemes.
        pub security_requirements: Vec<SecurityRequirement> => implicit "securityRequirements" | "security_requirements" | "security",
        /// Media types that it takes.
        pub default_input_modes: Vec<String> => required "defaultInputModes" | "default_input_modes",
        /// Media types that it answers with.
        pub default_output_modes: Vec<String> => required "defaultOutputModes" | "default_output_modes",
        /// What it can do.
        pub skills: Vec<AgentSkill> => required "skills",
        /// Signatures over the card (section 8.4).
        pub signatures: Vec<AgentCardSignature> => implicit "signatures",
        /// A picture of it.
        pub icon_url: Option<String> => presence "iconUrl" | "icon_url",
    }
}

impl AgentCard {
    /// A card with a name and a description; version `1.0.0`, text in and out. Its capabilities are left open, so that a
    /// server fills in what it has; `Some(false)` turns one off.
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

    /// Every media type that the agent or one of its skills produces.
    pub fn output_modes(&self) -> impl Iterator<Item = &str> {
        self.default_output_modes
            .iter()
            .chain(self.skills.iter().flat_map(|skill| &skill.output_modes))
            .map(String::as_str)
    }

    /// Every media type that the agent or one of its skills takes.
    pub fn input_modes(&self) -> impl Iterator<Item = &str> {
        self.default_input_modes
            .iter()
            .chain(self.skills.iter().flat_map(|skill| &skill.input_modes))
            .map(String::as_str)
    }
}
