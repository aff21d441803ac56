//! The NATS subjects of topics.

use nuncio_engine::bus::Topic;

/// Subjects with a common prefix.
#[derive(Debug, Clone)]
pub(crate) struct Subjects(String);

impl Subjects {
    pub(crate) fn new(prefix: &str) -> Self {
        Self(prefix.to_owned())
    }

    /// The subject of a topic, for example `nuncio.tasks.17` or `nuncio.node.4`.
    pub(crate) fn of(&self, topic: Topic) -> String {
        format!("{}.{topic}", self.0)
    }

    /// A subject for the messages of a connection to itself.
    pub(crate) fn echo(&self) -> String {
        format!("{}.echo.{}", self.0, uuid::Uuid::new_v4().simple())
    }
}
