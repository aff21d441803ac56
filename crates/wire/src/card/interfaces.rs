//! The interfaces of cards before 1.0: `url`, `preferredTransport` and `additionalInterfaces`.

use std::collections::HashSet;

use nuncio_model::{
    AgentCard,
    card::{AgentInterface, binding},
};
use serde_json::{Map, Value, json};

use super::{
    generation::Generation,
    members::{member, text},
};

/// The version that a document declares: `protocolVersion`, or the first entry of `protocolVersions` of a draft.
pub(super) fn declared(members: &Map<String, Value>) -> Option<&str> {
    text(members, "protocolVersion").or_else(|| match member(members, "protocolVersions")? {
        Value::Array(versions) => versions.first()?.as_str(),
        other => other.as_str(),
    })
}

/// The interfaces that a document names in the older form, without duplicates.
pub(super) fn plain(members: &Map<String, Value>, version: &str) -> Vec<AgentInterface> {
    let mut interfaces: Vec<AgentInterface> = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |url: Option<&str>, transport: Option<&str>| {
        let (Some(url), transport) = (url, transport.unwrap_or(binding::JSONRPC)) else { return };
        if seen.insert((url.to_owned(), transport.to_ascii_lowercase())) {
            let mut interface = AgentInterface::new(url, transport);
            version.clone_into(&mut interface.protocol_version);
            interfaces.push(interface);
        }
    };
    add(text(members, "url"), text(members, "preferredTransport"));
    let additional = member(members, "additionalInterfaces").and_then(Value::as_array);
    for interface in additional.into_iter().flatten().filter_map(Value::as_object) {
        add(text(interface, "url"), text(interface, "transport"));
    }
    interfaces
}

/// The version of a card that declares no version, from the members of the card. Cards of 0.1 and 0.2.0 can be
/// indistinguishable; the result is then 0.1.
pub(super) fn assumed(members: &Map<String, Value>) -> &'static str {
    let has = |names: &[&str]| names.iter().any(|name| member(members, name).is_some());
    let skills = member(members, "skills").and_then(Value::as_array);
    let secures_skills = || {
        let mut skills = skills.into_iter().flatten().filter_map(Value::as_object);
        skills.any(|skill| member(skill, "security").is_some())
    };
    let extends = || {
        let capabilities = member(members, "capabilities").and_then(Value::as_object);
        capabilities.is_some_and(|capabilities| member(capabilities, "extensions").is_some())
    };
    if has(&["signatures"]) || secures_skills() {
        "0.3"
    } else if has(&["securitySchemes", "security", "preferredTransport", "additionalInterfaces"])
        || has(&["supportsAuthenticatedExtendedCard", "iconUrl"])
        || extends()
    {
        "0.2"
    } else {
        "0.1"
    }
}

/// The interfaces of a card that have a version of this generation. If there are none: the interfaces without a
/// version.
///
/// Readers before 0.3 can assume that the first interface is JSON-RPC, so JSON-RPC comes first in 0.2. In 0.1 there is
/// only JSON-RPC.
pub(super) fn of(card: &AgentCard, generation: Generation) -> Vec<&AgentInterface> {
    let all = || card.supported_interfaces.iter();
    let mut interfaces: Vec<_> =
        all().filter(|it| Generation::declared(&it.protocol_version) == Some(generation)).collect();
    if interfaces.is_empty() {
        interfaces = all().filter(|it| it.protocol_version.trim().is_empty()).collect();
    }
    let is_jsonrpc = |it: &AgentInterface| it.protocol_binding.eq_ignore_ascii_case(binding::JSONRPC);
    match generation {
        Generation::First => interfaces.retain(|it| is_jsonrpc(it)),
        Generation::Second => interfaces.sort_by_key(|it| !is_jsonrpc(it)),
        Generation::Third => {}
    }
    interfaces
}

/// Writes interfaces in the older form. The first interface is the main interface and also an additional interface.
pub(super) fn write(interfaces: &[&AgentInterface], generation: Generation, to: &mut Map<String, Value>) {
    let main = interfaces.first();
    to.insert("url".into(), main.map_or("", |it| it.url.as_str()).into());
    let Some(main) = main.filter(|_| generation > Generation::First) else { return };
    to.insert("preferredTransport".into(), transport(main).into());
    let mut known = HashSet::new();
    // Interfaces that differ only in the tenant are equal in the older form, which has no tenant.
    let additional = interfaces.iter().map(|it| (it.url.as_str(), transport(it))).filter(|it| known.insert(*it));
    let additional = additional.map(|(url, transport)| json!({"url": url, "transport": transport}));
    let additional: Vec<Value> = additional.collect();
    to.insert("additionalInterfaces".into(), additional.into());
}

/// The name of the binding, in the spelling that older readers compare with.
fn transport(interface: &AgentInterface) -> &str {
    let known = [binding::JSONRPC, binding::GRPC, binding::HTTP_JSON];
    let name = interface.protocol_binding.trim();
    known.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name)
}
