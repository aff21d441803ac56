//! Which schemes a card or a skill requires: each by its name, in the form of 1.0 (section 4.5).

use nuncio_model::{AgentCard, Struct, Value};

use super::Findings;

impl Findings {
    pub(super) fn requirements(&mut self, path: &str, requirements: Option<&Value>, card: &AgentCard) {
        let requirements = requirements.and_then(Value::as_array).into_iter().flatten();
        for (index, requirement) in requirements.enumerate() {
            let path = format!("{path}[{index}]");
            let Some(members) = requirement.as_object() else { continue };
            let names: Vec<_> = if let Some(schemes) = members.get("schemes") {
                schemes.as_object().into_iter().flat_map(Struct::keys).collect()
            } else {
                if let Some((name, scopes)) = members.iter().find(|(_, scopes)| scopes.is_array()) {
                    let wanted = serde_json::json!({"schemes": {name: {"list": scopes}}});
                    self.mistakes.push(format!("{path} has the form of versions before 1.0; 1.0 has {wanted}"));
                }
                members.keys().collect()
            };
            for name in names.into_iter().filter(|name| !card.security_schemes.contains_key(*name)) {
                self.mistakes.push(format!("{path} names `{name}`, which securitySchemes does not have"));
            }
        }
    }

    /// Older members in a card of 1.0 only, which readers of 1.0 ignore.
    pub(super) fn forgotten(&mut self, document: &Struct) {
        for (name, instead) in [
            ("security", "securityRequirements"),
            ("additionalInterfaces", "supportedInterfaces"),
            ("url", "supportedInterfaces"),
        ] {
            if document.contains_key(name) {
                self.remarks.push(format!("{name} is of versions before 1.0, which has {instead}"));
            }
        }
    }
}
