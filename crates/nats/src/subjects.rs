//! The names that topics have in NATS.

use nuncio_engine::bus::Topic;

/// Names that begin with one prefix.
#[derive(Debug, Clone)]
pub(crate) struct Subjects(String);

impl Subjects {
    pub(crate) fn new(prefix: &str) -> Self {
        Self(prefix.to_owned())
    }

    /// `nuncio.tasks.17`, `nuncio.node.4`.
    pub(crate) fn of(&self, topic: Topic) -> String {
        format!("{}.{topic}", self.0)
    }

    /// Where one connection writes to itself.
    pub(crate) fn echo(&self) -> String {
        format!("{}.echo.{}", self.0, uuid::Uuid::new_v4().simple())
    }
}
