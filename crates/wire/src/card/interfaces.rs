//! Where an agent is reached, as cards before 1.0 say it: `url`, `preferredTransport` and `additionalInterfaces`.

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

/// The version that a document says it is of: `protocolVersion`, or the first of a draft's `protocolVersions`.
pub(super) fn declared(members: &Map<String, Value>) -> Option<&str> {
    text(members, "protocolVersion").or_else(|| match member(members, "protocolVersions")? {
        Value::Array(versions) => versions.first()?.as_str(),
        other => other.as_str(),
    })
}

/// The interfaces that a document names as older versions do, without those that it names twice.
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

/// The version of a card that has none, by what it knows. Between 0.1 and 0.2.0 it can be that nothing tells.
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

/// The interfaces of a card that speak an older version; else those that do not say what they speak.
///
/// Before 0.3, readers may take the first for JSON-RPC, and in 0.1 there is nothing else.
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

/// Writes interfaces as an older version has them. The first is the main one, and among the additional ones too.
pub(super) fn write(interfaces: &[&AgentInterface], generation: Generation, to: &mut Map<String, Value>) {
    let main = interfaces.first();
    to.insert("url".into(), main.map_or("", |it| it.url.as_str()).into());
    let Some(main) = main.filter(|_| generation > Generation::First) else { return };
    to.insert("preferredTransport".into(), transport(main).into());
    let mut known = HashSet::new();
    // Two that differ by their tenant are the same without it.
    let additional = interfaces.iter().map(|it| (it.url.as_str(), transport(it))).filter(|it| known.insert(*it));
    let additional = additional.map(|(url, transport)| json!({"url": url, "transport": transport}));
    let additional: Vec<Value> = additional.collect();
    to.insert("additionalInterfaces".into(), additional.into());
}

/// The binding's name, spelled as older readers compare it.
fn transport(interface: &AgentInterface) -> &str {
    let known = [binding::JSONRPC, binding::GRPC, binding::HTTP_JSON];
    let name = interface.protocol_binding.trim();
    known.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name)
}
