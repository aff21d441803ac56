//! Converts a card of the model into a card of an older version.

use nuncio_model::{
    AgentCard,
    card::{AgentCapabilities, AgentInterface, AgentSkill},
};
use serde_json::{Map, Value, json};

use super::{authentication, generation::Generation, interfaces, security};

/// The members of a card of this generation with the interfaces `at`.
///
/// An OAuth 2.0 scheme is omitted if the generation has none of its flows, because some readers refuse a card that has
/// a scheme without flows.
pub(super) fn members(card: &AgentCard, generation: Generation, at: &[&AgentInterface]) -> Map<String, Value> {
    let mut members = members_beside(card, generation, at);
    if let Some(schemes) = members.get_mut("securitySchemes").and_then(Value::as_object_mut) {
        schemes.retain(|_, scheme| !security::lacks_flows(scheme));
        if schemes.is_empty() {
            members.remove("securitySchemes");
        }
    }
    members
}

/// Like [`members`], but for a document that also has the members of 1.0. Readers of such a document expect an older
/// form of each scheme.
pub(super) fn members_beside(card: &AgentCard, generation: Generation, at: &[&AgentInterface]) -> Map<String, Value> {
    let mut to = Map::new();
    let mut add = |name: &str, value: Value| drop(to.insert(name.to_owned(), value));
    if let Some(version) = generation.protocol_version() {
        add("protocolVersion", version.into());
    }
    add("name", card.name.clone().into());
    add("description", card.description.clone().into());
    add("version", card.version.clone().into());
    if let Some(provider) = &card.provider {
        add("provider", json!({"organization": provider.organization, "url": provider.url}));
    }
    if let Some(url) = &card.documentation_url {
        add("documentationUrl", url.clone().into());
    }
    add("capabilities", capabilities(&card.capabilities, generation));
    add("defaultInputModes", card.default_input_modes.clone().into());
    add("defaultOutputModes", card.default_output_modes.clone().into());
    add("skills", card.skills.iter().map(|it| skill(it, generation)).collect());
    if generation == Generation::First {
        add("authentication", authentication::write(card));
    } else {
        if let Some(url) = &card.icon_url {
            add("iconUrl", url.clone().into());
        }
        if let Some(extends) = card.capabilities.extended_agent_card {
            add("supportsAuthenticatedExtendedCard", extends.into());
        }
        let schemes = card.security_schemes.iter();
        let schemes: Map<_, _> =
            schemes.filter_map(|(name, it)| Some((name.clone(), security::write(it, generation)?))).collect();
        if !schemes.is_empty() {
            add("securitySchemes", schemes.into());
        }
        if !card.security_requirements.is_empty() {
            add("security", security::write_requirements(&card.security_requirements));
        }
    }
    interfaces::write(at, generation, &mut to);
    to
}

fn capabilities(capabilities: &AgentCapabilities, generation: Generation) -> Value {
    let AgentCapabilities { streaming, push_notifications, extensions, .. } = capabilities;
    let mut to = Map::new();
    let default = (generation == Generation::First).then_some(false);
    let history = (generation == Generation::First && has_history(capabilities)).then_some(true);
    for (name, value) in
        [("streaming", *streaming), ("pushNotifications", *push_notifications), ("stateTransitionHistory", history)]
    {
        // In 0.1 each flag has a default. The servers of 0.1 write the default.
        to.extend(value.or(default).map(|value| (name.to_owned(), value.into())));
    }
    if generation > Generation::First && !extensions.is_empty() {
        let extensions = extensions.iter().filter_map(|extension| serde_json::to_value(extension).ok());
        let with_uri = extensions.map(|mut extension| {
            if let Some(members) = extension.as_object_mut() {
                members.entry("uri").or_insert_with(|| json!(""));
            }
            extension
        });
        to.insert("extensions".into(), with_uri.collect());
    }
    to.into()
}

/// Whether clients of 0.1 can read the history of statuses: the server reads the history from the log as a stream.
///
/// The cards of 0.2 and 0.3 have the flag, but no call gives the history: the texts have no message for it. A strict
/// reader of 1.0 refuses the flag in a document that has both forms.
pub(super) fn has_history(capabilities: &AgentCapabilities) -> bool {
    capabilities.streaming == Some(true)
}

fn skill(skill: &AgentSkill, generation: Generation) -> Value {
    let AgentSkill { id, name, description, tags, examples, input_modes, output_modes, security_requirements } = skill;
    let mut to = json!({"id": id, "name": name, "description": description, "tags": tags});
    let mut add = |name: &str, values: &[String]| {
        if !values.is_empty() {
            to[name] = json!(values);
        }
    };
    add("examples", examples);
    add("inputModes", input_modes);
    add("outputModes", output_modes);
    if generation == Generation::Third && !security_requirements.is_empty() {
        to["security"] = security::write_requirements(security_requirements);
    }
    to
}
