//! Security schemes. Before 1.0 the member `type` tells the kind of a scheme. In 1.0 an enclosing member tells the
//! kind.

use std::collections::BTreeMap;

use nuncio_model::{
    AgentCard, Leniency,
    card::{SecurityRequirement, SecurityScheme},
};
use serde_json::{Map, Value, json};

use super::{
    generation::Generation,
    members::{member, member_mut, text},
};

/// The values of `type` and the corresponding enclosing members of 1.0.
const KINDS: [(&str, &str); 5] = [
    ("apiKey", "apiKeySecurityScheme"),
    ("http", "httpAuthSecurityScheme"),
    ("oauth2", "oauth2SecurityScheme"),
    ("openIdConnect", "openIdConnectSecurityScheme"),
    ("mutualTLS", "mtlsSecurityScheme"),
];

/// The flows of OAuth 2.0. If a scheme has several flows, the first in this order keeps the name of the scheme.
const FLOWS: [&str; 5] = ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];

/// For each scheme with several flows: the names of the additional schemes, without the scheme that keeps the name.
pub(super) type Split = BTreeMap<String, Vec<String>>;

/// Converts the security members of a document to the form of 1.0.
pub(super) fn settle(members: &mut Map<String, Value>) -> Split {
    prefer_requirements(members);
    let skills = member_mut(members, "skills").and_then(Value::as_array_mut);
    skills.into_iter().flatten().filter_map(Value::as_object_mut).for_each(prefer_requirements);
    let mut split = Split::new();
    let Some(schemes) = member_mut(members, "securitySchemes").and_then(Value::as_object_mut) else { return split };
    for scheme in schemes.values_mut().filter_map(Value::as_object_mut) {
        wrap(scheme);
        name_http(scheme);
    }
    let several: Vec<_> = schemes.iter().filter_map(|(name, scheme)| Some((name.clone(), flows(scheme)?))).collect();
    for (name, flows) in several {
        for (index, flow) in flows.iter().enumerate() {
            let Some(scheme) = schemes.get(&name).map(|scheme| with_flow(scheme, flow)) else { continue };
            let own = format!("{name}-{flow}");
            if index > 0 && !schemes.contains_key(&own) {
                split.entry(name.clone()).or_default().push(own.clone());
                schemes.insert(own, scheme);
            }
        }
        if let Some(scheme) = schemes.get_mut(&name) {
            *scheme = with_flow(scheme, flows[0]);
        }
    }
    split
}

/// Adds requirements for the additional schemes: if a scheme alone is sufficient, so is each scheme from its flows.
pub(super) fn add_alternatives(card: &mut AgentCard, split: &Split) {
    let skills = card.skills.iter_mut().map(|skill| &mut skill.security_requirements);
    for requirements in skills.chain([&mut card.security_requirements]) {
        let mut added = Vec::new();
        for requirement in requirements.iter().filter(|it| it.schemes.len() == 1) {
            for (name, scopes) in &requirement.schemes {
                let others = split.get(name).into_iter().flatten();
                added.extend(
                    others.map(|other| SecurityRequirement {
                        schemes: BTreeMap::from([(other.clone(), scopes.clone())]),
                    }),
                );
            }
        }
        requirements.append(&mut added);
    }
}

/// If a document has the requirements of 1.0 and the older requirements, those of 1.0 win.
fn prefer_requirements(members: &mut Map<String, Value>) {
    if member(members, "securityRequirements").is_some() {
        members.remove("security");
    }
}

/// Encloses a scheme that has a `type` in the member of 1.0, unless the scheme is already enclosed.
fn wrap(scheme: &mut Map<String, Value>) {
    if KINDS.iter().any(|(_, wrapper)| member(scheme, wrapper).is_some()) {
        return;
    }
    let kind = text(scheme, "type").map(str::to_owned).unwrap_or_default();
    let known = |kind: &str| KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind));
    let found = known(&kind).or_else(|| {
        let is_http = ["httpAuth", "bearer", "basic"].iter().any(|name| name.eq_ignore_ascii_case(&kind));
        let found = known("http").filter(|_| is_http)?;
        Leniency::HttpAuthType.note();
        if text(scheme, "scheme").is_none() && !kind.eq_ignore_ascii_case("httpAuth") {
            scheme.insert("scheme".to_owned(), kind.clone().into());
        }
        Some(found)
    });
    if let Some((_, wrapper)) = found {
        let inner = std::mem::take(scheme);
        scheme.insert((*wrapper).to_owned(), inner.into());
    }
}

/// An HTTP scheme without a name becomes `Bearer`.
fn name_http(scheme: &mut Map<String, Value>) {
    if let Some(http) = member_mut(scheme, "httpAuthSecurityScheme").and_then(Value::as_object_mut)
        && text(http, "scheme").is_none()
    {
        Leniency::HttpWithoutScheme.note();
        http.insert("scheme".to_owned(), "Bearer".into());
    }
}

/// The flows of a scheme, if the scheme has more than one.
fn flows(scheme: &Value) -> Option<Vec<&'static str>> {
    let flows = member(member(scheme.as_object()?, "oauth2SecurityScheme")?.as_object()?, "flows")?.as_object()?;
    let flows: Vec<_> = FLOWS.into_iter().filter(|flow| member(flows, flow).is_some()).collect();
    (flows.len() > 1).then_some(flows)
}

/// The scheme with only this flow.
fn with_flow(scheme: &Value, flow: &str) -> Value {
    let mut scheme = scheme.clone();
    let oauth2 = scheme.as_object_mut().and_then(|it| member_mut(it, "oauth2SecurityScheme")?.as_object_mut());
    if let Some(flows) = oauth2.and_then(|it| member_mut(it, "flows")?.as_object_mut()) {
        let kept = member(flows, flow).cloned().unwrap_or_default();
        flows.clear();
        flows.insert(flow.to_owned(), kept);
    }
    scheme
}

/// A scheme in the older form, or `None` if the generation does not have the scheme.
pub(super) fn write(scheme: &SecurityScheme, generation: Generation) -> Option<Value> {
    let Value::Object(members) = serde_json::to_value(scheme).ok()? else { return None };
    let (wrapper, inner) = members.into_iter().next()?;
    let (kind, _) = KINDS.iter().find(|(_, name)| *name == wrapper)?;
    let Value::Object(mut inner) = inner else { return None };
    match *kind {
        "mutualTLS" if generation < Generation::Third => return None,
        "apiKey" => {
            let location = inner.remove("location").unwrap_or_default();
            inner.insert("in".into(), location.as_str().unwrap_or_default().to_ascii_lowercase().into());
        }
        "oauth2" => {
            if generation < Generation::Third {
                inner.remove("oauth2MetadataUrl");
            }
            if let Some(flows) = inner.get_mut("flows").and_then(Value::as_object_mut) {
                // The device code flow is the only flow that older versions do not have.
                flows.remove("deviceCode");
                flows.iter_mut().for_each(|(name, flow)| complete_flow(name, flow));
            }
        }
        _ => {}
    }
    inner.insert("type".into(), (*kind).into());
    Some(inner.into())
}

/// Whether an older scheme is an OAuth 2.0 scheme without any flow.
pub(super) fn lacks_flows(scheme: &Value) -> bool {
    scheme.get("flows").and_then(Value::as_object).is_some_and(Map::is_empty)
}

/// Adds the members that an older flow must have, and removes the member that older versions do not have.
fn complete_flow(name: &str, flow: &mut Value) {
    let Some(flow) = flow.as_object_mut() else { return };
    flow.remove("pkceRequired");
    flow.entry("scopes").or_insert_with(|| json!({}));
    let address = match name {
        "implicit" => "authorizationUrl",
        _ => "tokenUrl",
    };
    flow.entry(address).or_insert_with(|| json!(""));
}

/// Requirements in the form of `security`.
pub(super) fn write_requirements(requirements: &[SecurityRequirement]) -> Value {
    let requirement = |it: &SecurityRequirement| -> Map<String, Value> {
        it.schemes.iter().map(|(name, scopes)| (name.clone(), scopes.list.clone().into())).collect()
    };
    requirements.iter().map(requirement).collect()
}
