//! Corrects members of cards that some agents write with a wrong type or a wrong name.

use nuncio_model::{Leniency, card::binding};
use serde_json::{Map, Value, json};

use super::members::{member, member_mut, text};

/// The flags of `capabilities`.
const FLAGS: [&str; 4] = ["streaming", "pushNotifications", "stateTransitionHistory", "extendedAgentCard"];

/// The flags at the top level of a card before 1.0.
const TOP_FLAGS: [&str; 2] = ["supportsExtendedAgentCard", "supportsAuthenticatedExtendedCard"];

/// Corrects the members of a card.
pub(super) fn settle(members: &mut Map<String, Value>) {
    settle_capabilities(members);
    for name in TOP_FLAGS {
        settle_flag(members, name);
    }
    settle_skills(members);
    settle_binding(members, "preferredTransport");
    for list in ["supportedInterfaces", "additionalInterfaces"] {
        let interfaces = member_mut(members, list).and_then(Value::as_array_mut);
        for interface in interfaces.into_iter().flatten().filter_map(Value::as_object_mut) {
            settle_binding(interface, "protocolBinding");
            settle_binding(interface, "transport");
        }
    }
    let requirements = member(members, "securityRequirements").and_then(Value::as_array);
    let is_bare = |it: &Value| it.as_object().is_some_and(|it| !it.is_empty() && !it.contains_key("schemes"));
    if requirements.into_iter().flatten().any(is_bare) {
        Leniency::BareRequirement.note();
    }
}

fn settle_capabilities(members: &mut Map<String, Value>) {
    if let Some(capabilities) = member_mut(members, "capabilities")
        && let Value::Array(named) = capabilities
    {
        Leniency::CapabilitiesList.note();
        let mut object = Map::new();
        for name in named.iter().filter_map(Value::as_str) {
            if let Some(flag) = FLAGS.iter().find(|flag| ascii_letters(flag) == ascii_letters(name)) {
                object.insert((*flag).to_owned(), true.into());
            }
        }
        let extensions: Vec<Value> = named.drain(..).filter(|it| it.get("uri").is_some_and(Value::is_string)).collect();
        if !extensions.is_empty() {
            object.insert("extensions".to_owned(), extensions.into());
        }
        *capabilities = object.into();
    }
    if let Some(capabilities) = member_mut(members, "capabilities").and_then(Value::as_object_mut) {
        for name in FLAGS {
            settle_flag(capabilities, name);
        }
    }
}

fn settle_flag(members: &mut Map<String, Value>, name: &str) {
    let Some(value) = member_mut(members, name) else { return };
    let flag = match value.as_str().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("true" | "yes" | "1") => true,
        Some("false" | "no" | "0" | "") => false,
        _ => return,
    };
    Leniency::FlagAsText.note();
    *value = flag.into();
}

fn settle_skills(members: &mut Map<String, Value>) {
    let skills = member_mut(members, "skills").and_then(Value::as_array_mut);
    for skill in skills.into_iter().flatten() {
        if let Value::String(name) = skill {
            Leniency::SkillAsText.note();
            *skill = json!({"id": name, "name": name, "description": "", "tags": []});
        }
    }
}

/// Corrects names of bindings such as `REST`, which means HTTP+JSON. Other names stay, because they can be custom
/// bindings.
fn settle_binding(members: &mut Map<String, Value>, name: &str) {
    let Some(found) = text(members, name) else { return };
    let known = [binding::JSONRPC, binding::GRPC, binding::HTTP_JSON];
    if known.iter().any(|known| known.eq_ignore_ascii_case(found)) {
        return;
    }
    let meant = match ascii_letters(found).as_str() {
        "rest" | "http" | "httpjson" | "httprest" | "restful" => binding::HTTP_JSON,
        "jsonrpc" | "jsonrpc20" | "jsonrpc2" => binding::JSONRPC,
        _ => return,
    };
    if let Some(binding) = member_mut(members, name) {
        Leniency::RestBinding.note();
        *binding = meant.into();
    }
}

/// The letters and digits of a name in lower case.
fn ascii_letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}
