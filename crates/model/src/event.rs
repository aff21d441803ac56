//! What a stream carries (sections 3.2.3, 4.2.1 and 4.2.2).

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
        /// Its context.
        pub context_id: ContextId => required "contextId" | "context_id",
        /// The new status.
        pub status: TaskStatus => required "status",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

json_object! {
    /// A new artifact, or a piece of one (section 4.2.2).
    pub struct TaskArtifactUpdateEvent {
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// Its context.
        pub context_id: ContextId => required "contextId" | "context_id",
        /// The artifact, or its next parts.
        pub artifact: Artifact => required "artifact",
        /// Whether the parts go behind those of the artifact with the same id, instead of replacing it.
        pub append: bool => implicit "append",
        /// Whether nothing more will come for this artifact.
        pub last_chunk: bool => implicit "lastChunk" | "last_chunk",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

/// One event of a stream, one body of a webhook: exactly one of four (section 3.2.3).
#[derive(Debug, Clone, PartialEq)]
pub enum StreamResponse {
    /// A whole task: the first event of a task's stream.
    Task(Task),
    /// The agent's direct answer; no task exists.
    Message(Message),
    /// A change of status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact, or a piece of one.
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

/// An event on its way to a reader: the response, its place in the task's log, and its encodings.
///
/// Shared by all readers of a task, so that an event with many of them is encoded once for each way of encoding.
///
/// The `Debug` form is one line for people, `#3 status working "two left"` for example; `{:#?}` shows all members.
pub struct StreamEvent {
    /// The place in the task's log: 1, 2, 3 …; a snapshot carries that of the last event in it. `None` where there is
    /// no log: a direct message, or a remote agent that does not say.
    pub sequence: Option<u64>,
    /// The event itself.
    pub response: StreamResponse,
    keeps_encodings: AtomicBool,
    encodings: OnceLock<Box<Encoding>>,
    /// The event in which its place is told.
    marked: OnceLock<Arc<StreamEvent>>,
}

/// One of the ways in which an event was encoded, and the others. Nearly always there is one.
#[derive(Debug)]
struct Encoding {
    slot: usize,
    bytes: Bytes,
    next: OnceLock<Box<Encoding>>,
}

impl StreamEvent {
    /// An event at this place of the log.
    pub fn new(sequence: Option<u64>, response: StreamResponse) -> Self {
        let keeps_encodings = AtomicBool::new(false);
        Self { sequence, response, keeps_encodings, encodings: OnceLock::new(), marked: OnceLock::new() }
    }

    /// Says that the event has many readers, so that its encodings are worth keeping.
    pub fn keep_encodings(&self) {
        self.keeps_encodings.store(true, Ordering::Relaxed);
    }

    /// Whether somebody said that its encodings are worth keeping.
    pub fn keeps_encodings(&self) -> bool {
        self.keeps_encodings.load(Ordering::Relaxed)
    }

    /// The encoding in this slot, made by `encode` if nobody has asked for it yet.
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

    /// The event in which its place is told too ([`resume::mark`]), for a reader that asked for that; this one is as it
    /// was. One that has many readers keeps it for them.
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

/// The events of one task as one reader sees them, in order, none twice, none missing.
///
/// It ends after the last event that the operation promises, and says so again when it is asked again. An error is the
/// last item. Dropping it frees the reader and changes nothing for the task.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Arc<StreamEvent>, Error>> + Send>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_made_once_and_kept_in_its_slot() {
        let event = StreamEvent::new(None, StreamResponse::Message(Message::default()));
        for slot in [7, 0, 3, 0, 7, 3] {
            event.encoded(slot, |_| vec![slot.to_le_bytes()[0]].into());
        }
        for slot in [0_u8, 3, 7] {
            assert_eq!(event.encoded(slot.into(), |_| unreachable!()), &[slot][..]);
        }
    }
}
