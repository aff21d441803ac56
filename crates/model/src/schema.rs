//! JSON schemas of Rust types, for structured data in both directions (feature `schema`).
//!
//! The protocol has no member for a schema. An agent declares the input and output of its skills by an extension of the
//! card (`docs/extensions/schema.md`). A client requests data of a type by the member `schema` in the metadata of a
//! part.

use schemars::JsonSchema;
use serde_json::json;

use crate::{
    card::{AgentCard, AgentExtension},
    json::{Struct, Value},
    part::Part,
};

/// The identifier of the extension.
pub const URI: &str = "https://nuncio.dev/a2a/extensions/schema/v1";

/// The media type of structured data.
const JSON: &str = "application/json";

/// The JSON schema of a type.
pub fn of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Declares the input and output types of a skill in a card. The skill then also has the modes `application/json`.
pub fn declare<In: JsonSchema, Out: JsonSchema>(card: &mut AgentCard, skill: &str) {
    if let Some(skill) = card.skills.iter_mut().find(|it| it.id == skill) {
        for (modes, of_card) in
            [(&mut skill.input_modes, &card.default_input_modes), (&mut skill.output_modes, &card.default_output_modes)]
        {
            if modes.is_empty() {
                modes.clone_from(of_card);
            }
            if !modes.iter().any(|mode| mode == JSON) {
                modes.push(JSON.to_owned());
            }
        }
    }
    let extensions = &mut card.capabilities.extensions;
    let at = extensions.iter().position(|it| it.uri == URI).unwrap_or_else(|| {
        let description = Some("JSON schemas of the input and output of each skill".into());
        extensions.push(AgentExtension { uri: URI.to_owned(), description, ..AgentExtension::default() });
        extensions.len() - 1
    });
    let schemas = json!({"input": of::<In>(), "output": of::<Out>()});
    extensions[at].params.get_or_insert_default().insert(skill.to_owned(), schemas);
}

impl Part {
    /// Requests data of this type from the agent: adds the schema to the metadata of the part.
    pub fn asking_for<T: JsonSchema>(self) -> Self {
        let mut metadata = self.metadata().cloned().unwrap_or_default();
        metadata.insert("schema".to_owned(), of::<T>());
        self.with_metadata(metadata)
    }
}

/// The schemas of input and output that a card declares for a skill.
pub fn declared<'a>(card: &'a AgentCard, skill: &str) -> Option<(&'a Value, &'a Value)> {
    let extension = card.capabilities.extensions.iter().find(|it| it.uri == URI)?;
    let schemas: &Struct = extension.params.as_ref()?.get(skill)?.as_object()?;
    Some((schemas.get("input")?, schemas.get("output")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::AgentSkill;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Order {
        dish: String,
        guests: u32,
    }

    #[test]
    fn a_card_declares_the_schemas_of_a_skill() {
        let mut card =
            AgentCard::new("Waiter", "Takes orders.").with_skill(AgentSkill::new("order", "Order", "Orders."));
        declare::<Order, u32>(&mut card, "order");
        declare::<Order, String>(&mut card, "other");
        assert_eq!(card.skills[0].input_modes, ["text/plain", "application/json"]);
        assert_eq!(card.capabilities.extensions.len(), 1);
        let (input, output) = declared(&card, "order").unwrap();
        assert_eq!(input["required"], json!(["dish", "guests"]));
        assert_eq!(output["type"], "integer");
        assert_eq!(declared(&card, "nothing"), None);
    }

    #[test]
    fn a_part_asks_for_data_of_a_type() {
        let part = Part::text("a table for two").asking_for::<Order>();
        assert_eq!(part.metadata().unwrap()["schema"]["properties"]["dish"]["type"], "string");
    }
}
