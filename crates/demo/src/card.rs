//! The cards of the demo agent: public, and for authenticated callers.

use std::str::FromStr;

use nuncio_model::{
    AgentCard,
    card::{AgentExtension, AgentSkill},
};

const DESCRIPTION: &str = "Echoes text. Special words produce any state, event and error of the protocol.";
const MODES: [&str; 4] = ["text/plain", "application/json", "application/octet-stream", "image/png"];

/// An optional part of the protocol that the card declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// `streaming`
    Streaming,
    /// `push`
    Push,
    /// `extended-card`
    ExtendedCard,
}

impl FromStr for Capability {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "streaming" => Ok(Self::Streaming),
            "push" => Ok(Self::Push),
            "extended-card" => Ok(Self::ExtendedCard),
            _ => Err(format!("`{name}` is none of streaming, push and extended-card")),
        }
    }
}

/// The declarations in the card. The default is all capabilities and no extensions.
#[derive(Debug, Clone, Default)]
pub struct DemoOptions {
    /// Capabilities that are switched off.
    pub without: Vec<Capability>,
    /// URIs of optional extensions.
    pub extensions: Vec<String>,
    /// URIs of required extensions.
    pub required_extensions: Vec<String>,
}

/// The name of the demo agent.
pub const fn name() -> &'static str {
    "Nuncio demo agent"
}

/// The public card without interfaces, because the server adds the addresses.
pub fn card(options: &DemoOptions) -> AgentCard {
    let has = |capability| Some(!options.without.contains(&capability));
    let mut card = AgentCard::new(name(), DESCRIPTION);
    env!("CARGO_PKG_VERSION").clone_into(&mut card.version);
    card.capabilities.streaming = has(Capability::Streaming);
    card.capabilities.push_notifications = has(Capability::Push);
    card.capabilities.extended_agent_card = has(Capability::ExtendedCard);
    let optional = options.extensions.iter().map(|uri| (uri, false));
    let required = options.required_extensions.iter().map(|uri| (uri, true));
    card.capabilities.extensions = optional
        .chain(required)
        .map(|(uri, required)| AgentExtension { uri: uri.clone(), required, ..AgentExtension::default() })
        .collect();
    card.default_input_modes = MODES.map(str::to_owned).to_vec();
    card.default_output_modes = MODES.map(str::to_owned).to_vec();
    card.skills = skills();
    card
}

/// The card for authenticated callers: the served public card with an additional skill. The description is extended
/// only if it is the demo's own description. A signed card is not changed.
pub fn extended_card(mut public: AgentCard) -> AgentCard {
    if !public.signatures.is_empty() {
        return public;
    }
    if public.description == DESCRIPTION {
        public.description.push_str(" Identifies its callers and shows the known facts about them.");
    }
    if public.skills.iter().any(|skill| skill.id == "whoami") {
        return public;
    }
    public.with_skill(
        AgentSkill::new("whoami", "Who am I", "Shows the known facts about the caller.")
            .with_tags(["identity", "test"])
            .with_examples(["whoami"]),
    )
}

fn skills() -> Vec<AgentSkill> {
    vec![
        AgentSkill::new("echo", "Echo", "Returns the received text as an artifact or as a bare message.")
            .with_tags(["echo", "test"])
            .with_examples(["echo hello", "message hello"]),
        AgentSkill::new("streams", "Streams", "Writes an artifact in up to a million chunks.")
            .with_tags(["streaming", "test"])
            .with_examples(["stream 10", "stream 1000 every=5 size=64"]),
        AgentSkill::new("states", "States", "Moves a task into any state: waits, asks, rejects, fails, panics.")
            .with_tags(["lifecycle", "test"])
            .with_examples(["input", "auth", "slow 2", "fail", "reject", "panic"]),
        AgentSkill::new("data", "Data", "Returns parts of every kind, and data for the client's JSON schema.")
            .with_tags(["data", "files", "test"])
            .with_examples(["parts", "table"]),
    ]
}
