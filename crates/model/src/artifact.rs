//! Artifacts: the outputs of an agent (section 4.1.7).

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess};

use crate::{
    id::ArtifactId,
    json::{Struct, Value, json_object},
    part::PartRef,
    parts::Parts,
};

json_object! {
    /// An output of a task: a document, an image, a record of data (section 4.1.7).
    pub struct Artifact {
        /// The id, unique within the task.
        pub artifact_id: ArtifactId => required "artifactId" | "artifact_id",
        /// A name for people.
        pub name: Option<Box<str>> => implicit "name",
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
        /// The content: at least one part.
        pub parts: Parts => required "parts",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
        /// URIs of the extensions that contributed to the artifact.
        pub extensions: Vec<Box<str>> => implicit "extensions" via uris,
    }
}

impl Artifact {
    /// An artifact with these parts.
    pub fn new(artifact_id: impl Into<ArtifactId>, parts: impl Into<Parts>) -> Self {
        Self { artifact_id: artifact_id.into(), parts: parts.into(), ..Self::default() }
    }

    /// Sets a name for people.
    pub fn with_name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets a description for people.
    pub fn with_description(mut self, description: impl Into<Box<str>>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The text of all text parts, without separators, so that the chunks of a text form the whole text.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(PartRef::as_text).collect()
    }
}

/// Some peers send whole extensions instead of URIs; only the URI of such an extension is kept.
fn uris<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<Box<str>>, A::Error> {
    struct Uri(Box<str>);
    impl<'de> Deserialize<'de> for Uri {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            match Value::deserialize(from)? {
                Value::String(uri) => Ok(Self(uri.into())),
                extension => extension["uri"]
                    .as_str()
                    .map(|uri| Self(uri.into()))
                    .ok_or_else(|| D::Error::custom("an extension is a URI")),
            }
        }
    }
    Ok(map.next_value::<Option<Vec<Uri>>>()?.unwrap_or_default().into_iter().map(|uri| uri.0).collect())
}
