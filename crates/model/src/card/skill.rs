//! What an agent is good at, and who runs it (sections 4.4.2 and 4.4.5).

use super::SecurityRequirement;
use crate::json::json_object;

json_object! {
    /// Who runs an agent (section 4.4.2).
    pub struct AgentProvider {
        /// Their site.
        pub url: String => required "url",
        /// Their name.
        pub organization: String => required "organization" | "name",
    }
}

json_object! {
    /// A thing that an agent can do (section 4.4.5).
    pub struct AgentSkill {
        /// Its id, unique within the card.
        pub id: String => required "id",
        /// Its name, for people.
        pub name: String => required "name",
        /// What it does.
        pub description: String => required "description",
        /// Words to find it by.
        pub tags: Vec<String> => required "tags",
        /// Messages that it would take.
        pub examples: Vec<String> => implicit "examples",
        /// Media types that it takes, where they differ from the card's.
        pub input_modes: Vec<String> => implicit "inputModes" | "input_modes",
        /// Media types that it answers with, where they differ from the card's.
        pub output_modes: Vec<String> => implicit "outputModes" | "output_modes",
        /// What it takes to use it.
        pub security_requirements: Vec<SecurityRequirement> => implicit "securityRequirements" | "security_requirements" | "security",
    }
}

impl AgentSkill {
    /// A skill with an id, a name and a description.
    pub fn new(id: impl Into<String>, name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), description: description.into(), ..Self::default() }
    }

    /// Adds words to find it by.
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds messages that it would take.
    pub fn with_examples<T: Into<String>>(mut self, examples: impl IntoIterator<Item = T>) -> Self {
        self.examples.extend(examples.into_iter().map(Into::into));
        self
    }
}
