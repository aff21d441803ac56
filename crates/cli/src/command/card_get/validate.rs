//! What is wrong with a card (section 4.4), beyond what makes it useless.

mod shape;

use std::collections::BTreeSet;

use nuncio_client::Binding;
use nuncio_model::{
    AgentCard, Struct, Value,
    card::{AgentInterface, SecurityRequirement, SecurityScheme},
    json::FieldInfo,
};

use shape::{CARD, Holds, Shape};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What breaks the specification.
    pub(crate) mistakes: Vec<String>,
    /// What may be meant.
    pub(crate) remarks: Vec<String>,
    /// Whether it is a card of a version before 1.0 alone, whose members are not looked at.
    pub(crate) is_older: bool,
}

/// Members of cards before 1.0. A card for clients of all versions has them, too.
const OLDER: &[&str] = &[
    "additionalInterfaces",
    "authentication",
    "capabilities.stateTransitionHistory",
    "preferredTransport",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
    "url",
];

/// Checks a document, whatever it is.
pub(crate) fn document(document: &[u8]) -> Findings {
    let mut found = Findings::default();
    match serde_json::from_slice::<Value>(document) {
        Err(error) => found.mistakes.push(format!("it is not JSON: {error}")),
        Ok(document) if !document.is_object() => found.mistakes.push("it is not a JSON object".to_owned()),
        Ok(document) => found = check(&document),
    }
    found
}

fn check(document: &Value) -> Findings {
    let mut found = Findings::default();
    if document.get("supportedInterfaces").is_none() && document.get("url").is_some() {
        found.is_older = true;
        return found;
    }
    let card = &readable(document, &mut found.mistakes);
    found.message("", document, &CARD);
    if document["supportedInterfaces"].as_array().is_some_and(Vec::is_empty) {
        found.mistakes.push("supportedInterfaces is empty".to_owned());
    }
    for (index, interface) in card.supported_interfaces.iter().enumerate() {
        found.interface(&format!("supportedInterfaces[{index}]"), interface);
    }
    for (name, scheme) in &card.security_schemes {
        if let SecurityScheme::ApiKey(key) = scheme
            && !["", "header", "query", "cookie"].contains(&key.location.as_str())
        {
            let at = format!("securitySchemes.{name}.apiKeySecurityScheme.location");
            found.mistakes.push(format!("{at} is none of header, query and cookie"));
        }
    }
    found.requirements("securityRequirements", &card.security_requirements, card);
    let mut ids = BTreeSet::new();
    for (index, skill) in card.skills.iter().enumerate() {
        found.requirements(&format!("skills[{index}].securityRequirements"), &skill.security_requirements, card);
        if !skill.id.is_empty() && !ids.insert(&skill.id) {
            found.mistakes.push(format!("skills[{index}].id is the id of another skill"));
        }
    }
    found
}

/// The card without what is of a wrong type, each time with the mistake. What is in lists is looked at item by item, so
/// that one does not hide the next.
fn readable(document: &Value, mistakes: &mut Vec<String>) -> AgentCard {
    let mut good = Struct::new();
    for (name, value) in document.as_object().into_iter().flatten() {
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

/// A value if it can be read, or an object without the members that cannot.
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
    /// What a message lacks, and what is in it.
    fn message(&mut self, path: &str, value: &Value, shape: &Shape) {
        let Some(members) = value.as_object() else { return };
        self.members(path, members, shape.fields);
        if shape.is_one_of && !shape.fields.iter().any(|field| member(members, field).is_some_and(|it| !it.is_null())) {
            self.mistakes.push(format!("{path} is of no kind that is known"));
        }
        for (name, holds) in shape.members {
            let Some(field) = shape.fields.iter().find(|field| field.json == *name) else { continue };
            let Some(value) = member(members, field) else { continue };
            let at = at(path, name);
            match holds {
                Holds::One(shape) => self.message(&at, value, shape),
                Holds::Each(shape) => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.message(&format!("{at}[{index}]"), item, shape);
                    }
                }
                Holds::ByName(shape) => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        self.message(&format!("{at}.{name}"), item, shape);
                    }
                }
            }
        }
    }

    /// Required members that are missing, and members that nobody knows.
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
            if !is_known && !OLDER.contains(&at(name).as_str()) {
                self.remarks.push(format!("{} is not a member that the specification knows", at(name)));
            }
        }
    }

    fn interface(&mut self, path: &str, interface: &AgentInterface) {
        if interface.protocol_binding.is_empty() {
            return;
        }
        let binding = Binding::from_name(&interface.protocol_binding);
        let is_url = ["http://", "https://"].iter().any(|scheme| interface.url.starts_with(scheme));
        match binding {
            None => {
                self.remarks
                    .push(format!("{path}.protocolBinding `{}` is not spoken here", interface.protocol_binding));
            }
            // That it is missing, or no text, is a mistake of its own.
            Some(Binding::JsonRpc | Binding::HttpJson) if !is_url && !interface.url.is_empty() => {
                self.mistakes.push(format!("{path}.url `{}` is not an absolute URL", interface.url));
            }
            Some(_) => {}
        }
        let version = &interface.protocol_version;
        let is_version = version.split_once('.').is_some_and(|(major, minor)| {
            [major, minor].iter().all(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
        });
        if !version.is_empty() && !is_version {
            self.remarks.push(format!("{path}.protocolVersion `{version}` is not Major.Minor"));
        }
    }

    fn requirements(&mut self, path: &str, requirements: &[SecurityRequirement], card: &AgentCard) {
        for name in requirements.iter().flat_map(|requirement| requirement.schemes.keys()) {
            if !card.security_schemes.contains_key(name) {
                self.mistakes.push(format!("{path} names `{name}`, which securitySchemes does not have"));
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
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_card_is_valid() {
        let found = check(&json!({
            "name": "n", "description": "", "version": "1", "capabilities": {}, "defaultInputModes": [],
            "defaultOutputModes": [], "skills": [], "supportedInterfaces":
            [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        }));
        assert!(found.mistakes.is_empty() && found.remarks.is_empty(), "{found:?}");
    }

    #[test]
    fn members_of_older_versions_are_no_strangers_and_a_card_of_them_alone_is_not_checked() {
        let mut card = json!({
            "name": "n", "description": "", "version": "1", "capabilities": {"stateTransitionHistory": false},
            "defaultInputModes": [], "defaultOutputModes": [], "skills": [], "url": "https://a",
            "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC", "security": [],
            "supportedInterfaces": [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        });
        let found = check(&card);
        assert!(found.mistakes.is_empty() && found.remarks.is_empty() && !found.is_older, "{found:?}");
        card.as_object_mut().unwrap().remove("supportedInterfaces");
        let found = check(&card);
        assert!(found.mistakes.is_empty() && found.remarks.is_empty() && found.is_older, "{found:?}");
    }

    #[test]
    fn each_mistake_is_named_where_it_is() {
        let found = check(&json!({
            "name": "", "description": "d", "version": "1", "capabilities": {}, "defaultInputModes": [],
            "defaultOutputModes": [], "skills": [{"id": "a", "name": "A", "description": "d"}], "colour": "red",
            "securityRequirements": [{"schemes": {"key": {}}}],
            "supportedInterfaces": [{"url": "a:1", "protocolBinding": "JSONRPC", "protocolVersion": "one"}]
        }));
        assert_eq!(
            found.mistakes,
            [
                "name is empty",
                "skills[0].tags is missing",
                "supportedInterfaces[0].url `a:1` is not an absolute URL",
                "securityRequirements names `key`, which securitySchemes does not have",
            ]
        );
        assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
    }

    #[test]
    fn no_mistake_hides_another() {
        let url = |url: Value| {
            let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
            let found = check(&json!({"supportedInterfaces": [interface]})).mistakes;
            found.into_iter().filter(|it| it.starts_with("supportedInterfaces")).collect::<Vec<_>>()
        };
        for wrong in [json!(5), json!(""), json!(null), json!("a:1")] {
            let found = url(wrong);
            assert!(found.len() == 1 && found[0].contains("[0].url"), "one mistake is told once: {found:?}");
        }
        assert!(url(json!("http://a")).is_empty());
        let found =
            document(br#"{"name": 5, "version": [], "skills": [{"id": 1}, {"id": 2}], "supportedInterfaces": []}"#);
        let all = found.mistakes.join("; ");
        for expected in
            ["name: ", "version: ", "skills[0].id: ", "skills[1].id: ", "description is missing", "Interfaces is empty"]
        {
            assert!(all.contains(expected), "{expected} in {all}");
        }
    }

    #[test]
    fn what_is_not_json_is_said_with_its_place() {
        let found = document(b"{\n  \"name\": \"a\"\n  \"version\": 1\n}");
        assert!(found.mistakes[0].contains("line 3 column 3"), "{found:?}");
        assert_eq!(document(b"[]").mistakes, ["it is not a JSON object"]);
    }
}
