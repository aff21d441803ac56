//! What is wrong with a card (section 4.4), beyond what makes it useless.

use std::collections::BTreeSet;

use nuncio_client::Binding;
use nuncio_model::{
    AgentCard, Value,
    card::{AgentCapabilities, AgentInterface, AgentSkill, SecurityRequirement, SecurityScheme},
    json::{Described, FieldInfo},
};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What breaks the specification.
    pub(super) mistakes: Vec<String>,
    /// What may be meant.
    pub(super) remarks: Vec<String>,
}

pub(super) fn check(document: &Value, card: &AgentCard) -> Findings {
    let mut found = Findings::default();
    found.members("", document, AgentCard::FIELDS);
    found.members("capabilities", &document["capabilities"], AgentCapabilities::FIELDS);
    found.each("supportedInterfaces", document, AgentInterface::FIELDS);
    found.each("skills", document, AgentSkill::FIELDS);
    for (index, interface) in card.supported_interfaces.iter().enumerate() {
        found.interface(&format!("supportedInterfaces[{index}]"), interface);
    }
    for (name, scheme) in &card.security_schemes {
        if *scheme == SecurityScheme::Unknown {
            found.mistakes.push(format!("securitySchemes.{name} is of no kind that is known"));
        }
        if let SecurityScheme::ApiKey(key) = scheme
            && !["header", "query", "cookie"].contains(&key.location.as_str())
        {
            found.mistakes.push(format!("securitySchemes.{name}.location is none of header, query and cookie"));
        }
    }
    found.requirements("securityRequirements", &card.security_requirements, card);
    let mut ids = BTreeSet::new();
    for (index, skill) in card.skills.iter().enumerate() {
        found.requirements(&format!("skills[{index}].securityRequirements"), &skill.security_requirements, card);
        if !ids.insert(&skill.id) {
            found.mistakes.push(format!("skills[{index}].id is the id of another skill"));
        }
    }
    found
}

impl Findings {
    /// Required members that are missing, and members that nobody knows.
    fn members(&mut self, path: &str, value: &Value, fields: &[FieldInfo]) {
        let Some(members) = value.as_object() else { return };
        let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for field in fields.iter().filter(|field| field.presence == "required") {
            match members.get(field.json).or_else(|| members.get(field.name)) {
                None | Some(Value::Null) => self.mistakes.push(format!("{} is missing", at(field.json))),
                Some(Value::String(text)) if text.is_empty() && field.json != "description" => {
                    self.mistakes.push(format!("{} is empty", at(field.json)));
                }
                Some(_) => {}
            }
        }
        for name in members.keys() {
            if !fields.iter().any(|field| field.json == name || field.name == name) {
                self.remarks.push(format!("{} is not a member that the specification knows", at(name)));
            }
        }
    }

    fn each(&mut self, name: &str, document: &Value, fields: &[FieldInfo]) {
        for (index, item) in document[name].as_array().into_iter().flatten().enumerate() {
            self.members(&format!("{name}[{index}]"), item, fields);
        }
    }

    fn interface(&mut self, path: &str, interface: &AgentInterface) {
        let binding = Binding::from_name(&interface.protocol_binding);
        let is_url = ["http://", "https://"].iter().any(|scheme| interface.url.starts_with(scheme));
        match binding {
            None => {
                self.remarks
                    .push(format!("{path}.protocolBinding `{}` is not spoken here", interface.protocol_binding));
            }
            Some(Binding::JsonRpc | Binding::HttpJson) if !is_url => {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_json(document: &Value) -> Findings {
        check(document, &serde_json::from_value(document.clone()).unwrap())
    }

    #[test]
    fn a_whole_card_is_valid() {
        let found = check_json(&json!({
            "name": "n", "description": "", "version": "1", "capabilities": {}, "defaultInputModes": [],
            "defaultOutputModes": [], "skills": [], "supportedInterfaces":
            [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        }));
        assert!(found.mistakes.is_empty() && found.remarks.is_empty(), "{found:?}");
    }

    #[test]
    fn each_mistake_is_named_where_it_is() {
        let found = check_json(&json!({
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
}
