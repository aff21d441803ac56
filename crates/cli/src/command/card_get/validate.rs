//! Checks a card (section 4.4) of version 1.0, of an older version, or of both in one document.
//!
//! Addresses are checked by the rules of the client, so that `send` can use each valid card.

mod older;
mod requirements;
mod shape;
mod signature;

use std::collections::BTreeSet;

use nuncio_client::{Binding, ClientError, Version, interface_address};
use nuncio_model::{AgentCard, Struct, Value, card::SecurityScheme, json::FieldInfo};

use older::Older;
use shape::{CARD, Holds, Shape};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What breaks the specification.
    pub(crate) mistakes: Vec<String>,
    /// What may be meant.
    pub(crate) remarks: Vec<String>,
    /// The version before 1.0 that the card was checked against.
    pub(crate) older: Option<&'static str>,
}

/// Checks any document.
pub(crate) fn document(document: &[u8]) -> Findings {
    match serde_json::from_slice::<Value>(document) {
        Err(error) => Findings { mistakes: vec![format!("it is not JSON: {error}")], ..Findings::default() },
        Ok(Value::Object(members)) => check(&members),
        Ok(_) => Findings { mistakes: vec!["it is not a JSON object".to_owned()], ..Findings::default() },
    }
}

fn check(document: &Struct) -> Findings {
    let mut found = Findings::default();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let has_own = ["supportedInterfaces", "supported_interfaces"].iter().any(|name| document.contains_key(*name));
    let declared = text("protocolVersion").map(str::trim).filter(|version| !version.is_empty());
    let older = match declared {
        Some(version) => Older::declared(version),
        None if document.contains_key("url") => Some(assumed(document)),
        None => None,
    };
    if let Some(version) = older {
        let mut as_older = Findings::default();
        as_older.older(document, version);
        as_older.older_interfaces(document);
        if !has_own {
            found = as_older;
            found.older = Some(version.name());
            found.signatures(document);
            return found;
        }
        // The card is one of 1.0, and can be used without the older form.
        let problems = as_older.mistakes.into_iter().chain(as_older.remarks);
        found.remarks.extend(problems.map(|it| format!("for readers of {}: {it}", version.name())));
    }
    found.newest(document, older.is_some());
    found.signatures(document);
    found
}

/// The version of a card that does not declare a version, by its members.
fn assumed(document: &Struct) -> Older {
    let card = serde_json::to_vec(document).ok().and_then(|document| nuncio_wire::card::decode(&document).ok());
    let version = card.and_then(|card| card.supported_interfaces.first().map(|it| it.protocol_version.clone()));
    let by_authentication = || if document.contains_key("authentication") { Older::V0_1 } else { Older::V0_2 };
    version.and_then(|version| Older::declared(&version)).unwrap_or_else(by_authentication)
}

/// The card without values of a wrong type; each value is a mistake. Lists are checked item by item, so that a
/// mistake does not hide the next.
fn readable(document: &Struct, mistakes: &mut Vec<String>) -> AgentCard {
    let mut good = Struct::new();
    for (name, value) in document {
        let of = |value: Value| read(name, value);
        let items = value.as_array().filter(|_| of(Value::Array(Vec::new())).is_ok());
        let kept = match items {
            None => kept(name, value, &of, mistakes),
            Some(items) => {
                let of_list = |item| of(Value::Array(vec![item]));
                let items = items.iter().enumerate();
                Some(
                    items.filter_map(|(index, it)| kept(&format!("{name}[{index}]"), it, &of_list, mistakes)).collect(),
                )
            }
        };
        good.extend(kept.map(|value| (name.clone(), value)));
    }
    serde_json::from_value(Value::Object(good)).unwrap_or_default()
}

/// A value if it can be read, or an object without its unreadable members.
fn kept(
    path: &str,
    value: &Value,
    read: &impl Fn(Value) -> Result<(), String>,
    mistakes: &mut Vec<String>,
) -> Option<Value> {
    let reason = match read(value.clone()) {
        Ok(()) => return Some(value.clone()),
        Err(reason) => reason,
    };
    let mut good = Struct::new();
    let before = mistakes.len();
    for (name, member) in value.as_object().into_iter().flatten() {
        let alone = Struct::from_iter([(name.clone(), member.clone())]);
        match read(Value::Object(alone)) {
            Ok(()) => drop(good.insert(name.clone(), member.clone())),
            Err(reason) => mistakes.push(format!("{path}.{name}: {reason}")),
        }
    }
    let good = Value::Object(good);
    if mistakes.len() == before {
        mistakes.push(format!("{path}: {reason}"));
    }
    read(good.clone()).is_ok().then_some(good)
}

/// Whether one member of a card can be read.
fn read(name: &str, value: Value) -> Result<(), String> {
    let alone = Struct::from_iter([(name.to_owned(), value)]);
    serde_json::from_value::<AgentCard>(Value::Object(alone)).map(|_| ()).map_err(|error| error.to_string())
}

impl Findings {
    /// Checks a card of 1.0.
    fn newest(&mut self, document: &Struct, has_older: bool) {
        let card = &readable(document, &mut self.mistakes);
        self.message("", document, &CARD);
        if document.get("supportedInterfaces").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.mistakes.push("supportedInterfaces is empty".to_owned());
        }
        for (index, interface) in card.supported_interfaces.iter().enumerate() {
            let path = format!("supportedInterfaces[{index}]");
            self.interface(&format!("{path}.url"), &interface.url, &interface.protocol_binding);
            self.version(&path, &interface.protocol_version);
        }
        for (name, scheme) in &card.security_schemes {
            if let SecurityScheme::ApiKey(key) = scheme
                && !["", "header", "query", "cookie"].contains(&key.location.as_str())
            {
                let at = format!("securitySchemes.{name}.apiKeySecurityScheme.location");
                self.mistakes.push(format!("{at} is none of header, query and cookie"));
            }
        }
        if !has_older {
            self.forgotten(document);
        }
        self.requirements("securityRequirements", document.get("securityRequirements"), card);
        let mut ids = BTreeSet::new();
        let skills = document.get("skills").and_then(Value::as_array).into_iter().flatten();
        for (index, skill) in skills.enumerate() {
            let path = format!("skills[{index}].securityRequirements");
            self.requirements(&path, skill.get("securityRequirements"), card);
            if let Some(id) = skill.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
                && !ids.insert(id)
            {
                self.mistakes.push(format!("skills[{index}].id is the id of another skill"));
            }
        }
    }

    /// The address of an interface, by the rules of the client.
    fn interface(&mut self, path: &str, url: &str, binding: &str) {
        // A missing member is reported separately.
        if binding.is_empty() || url.is_empty() {
            return;
        }
        let known = match Binding::from_name(binding) {
            Some(known) => known,
            // The client reads this name, too.
            None if binding.eq_ignore_ascii_case("REST") => {
                self.remarks
                    .push(format!("{path} is for the binding `{binding}`; the name is `{}`", Binding::HttpJson));
                Binding::HttpJson
            }
            None => {
                return self.remarks.push(format!("{path} is for the binding `{binding}`, which is not spoken here"));
            }
        };
        if let Err(ClientError::Address { reason, .. }) = interface_address(url, known) {
            self.mistakes.push(format!("{path} `{url}` is not an address for {known}: {reason}"));
        }
    }

    fn version(&mut self, path: &str, version: &str) {
        let numbers: Vec<_> = version.trim().split('.').collect();
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let problem = match (numbers.len(), numbers.iter().all(is_number)) {
            _ if version.is_empty() => return,
            (2, true) if version.parse::<Version>().is_err() => {
                return self.remarks.push(format!("{path}.protocolVersion `{version}` is not spoken here"));
            }
            (2, true) => return,
            (3, true) => return self.remarks.push(format!("{path}.protocolVersion `{version}` is not Major.Minor")),
            _ => "is not Major.Minor, for example 1.0",
        };
        self.mistakes.push(format!("{path}.protocolVersion `{version}` {problem}"));
    }

    /// The addresses of a card before 1.0.
    fn older_interfaces(&mut self, document: &Struct) {
        let text = |members: &Struct, name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let preferred = text(document, "preferredTransport").unwrap_or_else(|| Binding::JsonRpc.name().to_owned());
        self.interface("url", &text(document, "url").unwrap_or_default(), &preferred);
        let others = document.get("additionalInterfaces").and_then(Value::as_array);
        for (index, other) in others.into_iter().flatten().filter_map(Value::as_object).enumerate() {
            let [url, transport] = ["url", "transport"].map(|name| text(other, name).unwrap_or_default());
            self.interface(&format!("additionalInterfaces[{index}].url"), &url, &transport);
        }
    }

    /// The missing members of a message, and the mistakes in the others.
    fn message(&mut self, path: &str, members: &Struct, shape: &Shape) {
        self.members(path, members, shape.fields);
        if shape.is_one_of && !shape.fields.iter().any(|field| member(members, field).is_some_and(|it| !it.is_null())) {
            self.mistakes.push(format!("{path} is of no kind that is known"));
        }
        for (name, holds) in shape.members {
            let Some(field) = shape.fields.iter().find(|field| field.json == *name) else { continue };
            let Some(value) = member(members, field) else { continue };
            let at = at(path, name);
            // A value of a wrong type is reported elsewhere.
            let mut message = |at: &str, value: &Value, shape| {
                value.as_object().into_iter().for_each(|members| self.message(at, members, shape));
            };
            match holds {
                Holds::One(shape) => message(&at, value, shape),
                Holds::Each(shape) => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        message(&format!("{at}[{index}]"), item, shape);
                    }
                }
                Holds::ByName(shape) => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        message(&format!("{at}.{name}"), item, shape);
                    }
                }
            }
        }
    }

    /// Missing required members, and unknown members.
    fn members(&mut self, path: &str, members: &Struct, fields: &[FieldInfo]) {
        let at = |name: &str| at(path, name);
        for field in fields.iter().filter(|field| field.presence == "required") {
            match member(members, field) {
                None | Some(Value::Null) => self.mistakes.push(format!("{} is missing", at(field.json))),
                Some(Value::String(text)) if text.is_empty() && field.json != "description" => {
                    self.mistakes.push(format!("{} is empty", at(field.json)));
                }
                Some(_) => {}
            }
        }
        for name in members.keys() {
            let is_known = fields.iter().any(|field| field.json == name || field.name == name);
            if !is_known && !older::knows(path, name) {
                self.remarks.push(format!("{} is not a member that the specification knows", at(name)));
            }
        }
    }
}

/// A member by its name in JSON, or in protobuf.
fn member<'a>(members: &'a Struct, field: &FieldInfo) -> Option<&'a Value> {
    members.get(field.json).or_else(|| members.get(field.name))
}

/// The path of a member.
fn at(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
