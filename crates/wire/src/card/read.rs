//! Converts a card of any version into the card of the model.

use nuncio_model::{AgentCard, Error, Leniency};
use serde_json::{Map, Value};

use super::{
    authentication,
    generation::Generation,
    interfaces, lenient,
    members::{member, member_mut, text},
    security,
};
use crate::json;

/// The media type of the mode `text` of 0.1, and of absent modes.
const TEXT: &str = "text/plain";

pub(super) fn card(document: &[u8]) -> Result<AgentCard, Error> {
    // If the document is not an object, the model produces the error.
    let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(document) else { return json::answer(document) };
    lenient::settle(&mut members);
    let named = member(&members, "supportedInterfaces").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let declared = interfaces::declared(&members).map(str::to_owned);
    let version = declared.as_deref().unwrap_or_else(|| interfaces::assumed(&members)).to_owned();
    let plain = interfaces::plain(&members, &version);
    settle_interfaces(&mut members, declared.as_deref().filter(|_| plain.is_empty()));
    settle_extended_card(&mut members);
    let split = security::settle(&mut members);
    let mut card: AgentCard = json::answer(&super::written(&members))?;
    security::add_alternatives(&mut card, &split);
    if named {
        // In addition to its own interfaces, the card can name an interface of an older version in the older form only.
        let is_of = |version: &str| Generation::declared(version);
        let is_new = declared.is_some_and(|it| {
            is_of(&it).is_some()
                && !card.supported_interfaces.iter().any(|own| is_of(&own.protocol_version) == is_of(&it))
        });
        card.supported_interfaces.extend(plain.into_iter().filter(|_| is_new));
    } else if !plain.is_empty() {
        card.supported_interfaces = plain;
        complete(&mut card, &members);
    }
    Ok(card)
}

/// Corrects names of 1.0 drafts: `transport` of an interface, and one version for all interfaces.
fn settle_interfaces(members: &mut Map<String, Value>, version: Option<&str>) {
    let interfaces = member_mut(members, "supportedInterfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten().filter_map(Value::as_object_mut) {
        if member(interface, "protocolBinding").is_none()
            && let Some(transport) = text(interface, "transport").map(str::to_owned)
        {
            Leniency::InterfaceTransport.note();
            interface.insert("protocolBinding".into(), transport.into());
        }
        if text(interface, "protocolVersion").is_none() {
            let Some(version) = version else {
                Leniency::InterfaceWithoutVersion.note();
                continue;
            };
            Leniency::CardVersions.note();
            interface.insert("protocolVersion".into(), version.into());
        }
    }
}

/// Moves the flag for the extended card into `capabilities`. Older cards have the flag at the top level.
fn settle_extended_card(members: &mut Map<String, Value>) {
    let names = ["supportsExtendedAgentCard", "supportsAuthenticatedExtendedCard"];
    let Some(extends) = names.iter().find_map(|name| member(members, name)?.as_bool()) else { return };
    if member(members, "capabilities").is_none() {
        members.insert("capabilities".into(), Value::Object(Map::new()));
    }
    if let Some(capabilities) = member_mut(members, "capabilities").and_then(Value::as_object_mut)
        && member(capabilities, "extendedAgentCard").is_none()
    {
        capabilities.insert("extendedAgentCard".into(), extends.into());
    }
}

/// Completes a card before 1.0: reads the members that only these cards have, and sets the members that they omit.
fn complete(card: &mut AgentCard, members: &Map<String, Value>) {
    card.signatures.clear();
    if card.security_schemes.is_empty()
        && let Some(Value::Object(authentication)) = member(members, "authentication")
    {
        authentication::read(authentication, card);
    }
    let modes = card.skills.iter_mut().flat_map(|skill| [&mut skill.input_modes, &mut skill.output_modes]);
    for mode in modes.chain([&mut card.default_input_modes, &mut card.default_output_modes]).flatten() {
        if mode == "text" {
            TEXT.clone_into(mode);
        }
    }
    for modes in [&mut card.default_input_modes, &mut card.default_output_modes] {
        if modes.is_empty() {
            modes.push(TEXT.to_owned());
        }
    }
}
