//! Skills of an agent, and its operator (sections 4.4.2 and 4.4.5).

use super::SecurityRequirement;
use crate::json::json_object;

json_object! {
    /// The operator of an agent (section 4.4.2).
    pub struct AgentProvider {
        /// The website of the operator.
        pub url: String => required "url",
        /// The name of the operator.
        pub organization: String => required "organization" | "name",
    }
}

json_object! {
    /// An ability of an agent (section 4.4.5).
    pub struct AgentSkill {
        /// The id, unique within the card.
        pub id: String => required "id",
        /// The name, for people.
        pub name: String => required "name",
        /// The purpose of the skill.
        pub description: String => required "description",
        /// Keywords for the search.
        pub tags: Vec<String> => required "tags",
        /// Example messages.
        pub examples: Vec<String> => implicit "examples",
        /// Accepted media types, if different from the card's.
        pub input_modes: Vec<String> => implicit "inputModes" | "input_modes",
        /// Media types of the answers, if different from the card's.
        pub output_modes: Vec<String> => implicit "outputModes" | "output_modes",
        /// The schemes required for this skill.
        pub security_requirements: Vec<SecurityRequirement> => implicit "securityRequirements" | "security_requirements" | "security",
    }
}

impl AgentSkill {
    /// A skill with an id, a name and a description.
    pub fn new(id: impl Into<String>, name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), description: description.into(), ..Self::default() }
    }

    /// Adds keywords for the search.
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds example messages.
    pub fn with_examples<T: Into<String>>(mut self, examples: impl IntoIterator<Item = T>) -> Self {
        self.examples.extend(examples.into_iter().map(Into::into));
        self
    }
}
