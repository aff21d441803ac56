//! The content of a stream (sections 3.2.3, 4.2.1 and 4.2.2).

mod show;

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use crate::{
    artifact::Artifact,
    error::Error,
    id::{ContextId, TaskId},
    json::{In, Key, Struct, json_object},
    message::Message,
    resume,
    task::{Task, TaskStatus},
};

json_object! {
    /// A change of a task's status (section 4.2.1).
    pub struct TaskStatusUpdateEvent {
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// The context of the task.
        pub context_id: ContextId => required "contextId" | "context_id",
        /// The new status.
        pub status: TaskStatus => required "status",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

json_object! {
    /// A new artifact, or a chunk of an artifact (section 4.2.2).
    pub struct TaskArtifactUpdateEvent {
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// The context of the task.
        pub context_id: ContextId => required "contextId" | "context_id",
        /// The artifact, or the next parts of the artifact.
        pub artifact: Artifact => required "artifact",
        /// Whether the parts are appended to the artifact with the same id, instead of replacing it.
        pub append: bool => implicit "append",
        /// Whether this is the last chunk of the artifact.
        pub last_chunk: bool => implicit "lastChunk" | "last_chunk",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

/// An event of a stream, or a body of a webhook: exactly one of four kinds (section 3.2.3).
#[derive(Debug, Clone, PartialEq)]
pub enum StreamResponse {
    /// A whole task: the first event in the stream of a task.
    Task(Task),
    /// The agent's direct answer, without a task.
    Message(Message),
    /// A change of status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact, or a chunk of an artifact.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

impl Serialize for StreamResponse {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1))?;
        match self {
            Self::Task(task) => map.serialize_entry("task", task)?,
            Self::Message(message) => map.serialize_entry("message", message)?,
            Self::StatusUpdate(update) => map.serialize_entry("statusUpdate", update)?,
            Self::ArtifactUpdate(update) => map.serialize_entry("artifactUpdate", update)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(StreamResponseVisitor)
    }
}

struct StreamResponseVisitor;

impl<'de> de::Visitor<'de> for StreamResponseVisitor {
    type Value = StreamResponse;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with one of task, message, statusUpdate and artifactUpdate")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<StreamResponse, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            let next = match &*key.0 {
                "task" => map.next_value::<Option<In<Task>>>()?.map(|it| StreamResponse::Task(it.0)),
                "message" => map.next_value::<Option<In<Message>>>()?.map(|it| StreamResponse::Message(it.0)),
                "statusUpdate" | "status_update" => {
                    map.next_value::<Option<In<TaskStatusUpdateEvent>>>()?.map(|it| StreamResponse::StatusUpdate(it.0))
                }
                "artifactUpdate" | "artifact_update" => map
                    .next_value::<Option<In<TaskArtifactUpdateEvent>>>()?
                    .map(|it| StreamResponse::ArtifactUpdate(it.0)),
                _ => {
                    map.next_value::<de::IgnoredAny>()?;
                    continue;
                }
            };
            if next.is_some() && found.is_some() {
                return Err(de::Error::custom(
                    "more than one of task, message, statusUpdate and artifactUpdate is set",
                ));
            }
            found = next.or(found);
        }
        found.ok_or_else(|| de::Error::custom("needs one of task, message, statusUpdate and artifactUpdate"))
    }
}

/// An event for readers: the response, the position in the task's log, and the encodings.
///
/// All readers of a task share the event, so each encoding of an event with many readers is computed once.
///
/// The `Debug` form is one line for people, for example `#3 status working "two left"`; `{:#?}` shows all members.
pub struct StreamEvent {
    /// The position in the task's log: 1, 2, 3 …; a snapshot has the position of the last event in the snapshot. `None`
    /// if there is no log: for a direct message, or for a remote agent that does not send positions.
    pub sequence: Option<u64>,
    /// The response.
    pub response: StreamResponse,
    keeps_encodings: AtomicBool,
    encodings: OnceLock<Box<Encoding>>,
    /// The same event with its position inside.
    marked: OnceLock<Arc<StreamEvent>>,
}

/// One encoding of an event, linked to the next encoding. Most events have one.
#[derive(Debug)]
struct Encoding {
    slot: usize,
    bytes: Bytes,
    next: OnceLock<Box<Encoding>>,
}

impl StreamEvent {
    /// An event at this position of the log.
    pub fn new(sequence: Option<u64>, response: StreamResponse) -> Self {
        let keeps_encodings = AtomicBool::new(false);
        Self { sequence, response, keeps_encodings, encodings: OnceLock::new(), marked: OnceLock::new() }
    }

    /// Declares that the event has many readers, so that its encodings are kept.
    pub fn keep_encodings(&self) {
        self.keeps_encodings.store(true, Ordering::Relaxed);
    }

    /// Whether the encodings are kept.
    pub fn keeps_encodings(&self) -> bool {
        self.keeps_encodings.load(Ordering::Relaxed)
    }

    /// The encoding in this slot; `encode` computes the encoding on the first request.
    pub fn encoded(&self, slot: usize, encode: impl Fn(&StreamResponse) -> Bytes) -> &Bytes {
        let mut link = &self.encodings;
        loop {
            let bytes = || encode(&self.response);
            let encoding = link.get_or_init(|| Box::new(Encoding { slot, bytes: bytes(), next: OnceLock::new() }));
            if encoding.slot == slot {
                return &encoding.bytes;
            }
            link = &encoding.next;
        }
    }

    /// The same event with its position inside ([`resume::mark`]), for a reader that requested positions. The original
    /// stays unchanged. An event with many readers keeps the result.
    pub fn marked(self: Arc<Self>) -> Arc<Self> {
        let Some(sequence) = self.sequence else { return self };
        let mark = || {
            let mut response = self.response.clone();
            resume::mark(&mut response, sequence);
            let marked = Self::new(Some(sequence), response);
            marked.keeps_encodings.store(self.keeps_encodings(), Ordering::Relaxed);
            Arc::new(marked)
        };
        if self.keeps_encodings() { Arc::clone(self.marked.get_or_init(mark)) } else { mark() }
    }
}

/// The events of one task for one reader: in order, complete and without duplicates.
///
/// The stream ends after the last event that the operation promises; after the end, further polls return `None`. An
/// error is the last item. Dropping the stream frees the reader and does not affect the task.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Arc<StreamEvent>, Error>> + Send>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_computed_once_and_kept_in_its_slot() {
        let event = StreamEvent::new(None, StreamResponse::Message(Message::default()));
        for slot in [7, 0, 3, 0, 7, 3] {
            event.encoded(slot, |_| vec![slot.to_le_bytes()[0]].into());
        }
        for slot in [0_u8, 3, 7] {
            assert_eq!(event.encoded(slot.into(), |_| unreachable!()), &[slot][..]);
        }
    }
}
