//! Tasks and records as JSON, without what the columns beside them say: [`snapshot`] has the tasks.

mod snapshot;

use nuncio_engine::{Record, Sent, StoreError};
use nuncio_model::{
    Artifact, ArtifactId, ContextId, Message, Part, StreamResponse, Struct, Task, TaskArtifactUpdateEvent, TaskId,
    TaskStatus, TaskStatusUpdateEvent,
};
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};

use self::snapshot::{ReadSnapshot, Snapshot};
use crate::error::corrupt;

/// Bytes of a body that is small: two of them fit on a page.
const SMALL: usize = 1_800;

/// A task, in the two columns that keep it.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) task: String,
    /// Nothing where there are no artifacts.
    pub(crate) artifacts: Option<String>,
}

impl Body {
    pub(crate) fn of(task: &Task) -> Result<Self, StoreError> {
        let artifacts = (!task.artifacts.is_empty()).then(|| write(&task.artifacts)).transpose()?;
        Ok(Self { task: write(&Snapshot::of(task))?, artifacts })
    }

    /// Whether it stands in the task's own row, which is written again with each commit.
    pub(crate) fn is_small(&self) -> bool {
        self.len() <= SMALL
    }

    /// How long it is, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.task.len() + self.artifacts.as_ref().map_or(0, String::len)
    }
}

/// Reads a task.
pub(crate) fn read_task(
    id: TaskId,
    context: ContextId,
    body: &str,
    artifacts: Option<&str>,
) -> Result<Task, StoreError> {
    let mut task = read::<ReadSnapshot>(body)?.into_task(id, context);
    if let Some(artifacts) = artifacts {
        task.artifacts = read::<Vec<Artifact>>(artifacts)?;
    }
    Ok(task)
}

/// A record. The ids of task and context are left out where they are those of the task, as they are in every log of the
/// engine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum RecordBody<'a> {
    Received(&'a Message),
    Waiting(&'a Message),
    ReceivedAs(&'a Message, &'a Sent),
    WaitingAs(&'a Message, &'a Sent),
    SubmittedAs(&'a Task, &'a Sent),
    Begun,
    StatusUpdate(StatusBody<'a>),
    ArtifactUpdate(ArtifactBody<'a>),
    /// A piece of text behind those that an artifact has: what long logs are made of.
    Text(&'a ArtifactId, &'a str),
    #[serde(untagged)]
    Other(&'a StreamResponse),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    status: &'a TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    artifact: &'a Artifact,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    append: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

/// The records of a commit.
struct RecordList<'a> {
    records: &'a [Record],
    id: &'a TaskId,
    context: &'a ContextId,
}

impl Serialize for RecordList<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.records.iter().map(|record| record_body(record, self.id, self.context)))
    }
}

/// The records of a commit, as a list.
pub(crate) fn write_records(records: &[Record], id: &TaskId, context: &ContextId) -> Result<String, StoreError> {
    write(&RecordList { records, id, context })
}

fn record_body<'a>(record: &'a Record, id: &TaskId, context: &ContextId) -> RecordBody<'a> {
    let event = match record {
        Record::Received(received) => {
            let message = &received.message;
            return match (received.waits, received.sent.as_deref()) {
                (false, None) => RecordBody::Received(message),
                (true, None) => RecordBody::Waiting(message),
                (false, Some(sent)) => RecordBody::ReceivedAs(message, sent),
                (true, Some(sent)) => RecordBody::WaitingAs(message, sent),
            };
        }
        Record::Submitted(submitted) => match &submitted.event.response {
            StreamResponse::Task(task) => return RecordBody::SubmittedAs(task, &submitted.sent),
            _ => &submitted.event,
        },
        Record::Begun(_) => return RecordBody::Begun,
        Record::Update(event) => event,
    };
    match &event.response {
        StreamResponse::StatusUpdate(update) => RecordBody::StatusUpdate(StatusBody {
            task_id: Some(&update.task_id).filter(|task_id| *task_id != id),
            context_id: Some(&update.context_id).filter(|context_id| *context_id != context),
            status: &update.status,
            metadata: update.metadata.as_deref(),
        }),
        StreamResponse::ArtifactUpdate(update) => {
            let task_id = Some(&update.task_id).filter(|task_id| *task_id != id);
            let context_id = Some(&update.context_id).filter(|context_id| *context_id != context);
            if task_id.is_none()
                && context_id.is_none()
                && let Some(text) = text_alone(update)
            {
                return RecordBody::Text(&update.artifact.artifact_id, text);
            }
            RecordBody::ArtifactUpdate(ArtifactBody {
                task_id,
                context_id,
                artifact: &update.artifact,
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: update.metadata.as_deref(),
            })
        }
        other => RecordBody::Other(other),
    }
}

/// The text of an update that appends one text and says nothing else.
fn text_alone(update: &TaskArtifactUpdateEvent) -> Option<&str> {
    let TaskArtifactUpdateEvent { artifact, append: true, last_chunk: false, metadata: None, .. } = update else {
        return None;
    };
    let Artifact { name: None, description: None, metadata: None, parts, extensions, .. } = artifact else {
        return None;
    };
    let [part] = &**parts else { return None };
    let is_plain = part.metadata().is_none() && part.filename().is_none() && part.media_type().is_none();
    part.as_text().filter(|_| is_plain && extensions.is_empty())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ReadRecord {
    Received(Message),
    Waiting(Message),
    ReceivedAs(Message, Sent),
    WaitingAs(Message, Sent),
    SubmittedAs(Task, Sent),
    Begun,
    StatusUpdate(TaskStatusUpdateEvent),
    ArtifactUpdate(TaskArtifactUpdateEvent),
    Text(ArtifactId, Box<str>),
    Task(Task),
    Message(Message),
}

/// Reads the records of a commit whose last one has this sequence number.
pub(crate) fn read_records(body: &str, last: u64, id: &TaskId, context: &ContextId) -> Result<Vec<Record>, StoreError> {
    let records: Vec<ReadRecord> = read(body)?;
    let before = last.checked_sub(records.len() as u64).ok_or_else(|| corrupt("more records than were written"))?;
    let records = records.into_iter().zip(before + 1..);
    Ok(records.map(|(record, sequence)| record.into_record(sequence, id, context)).collect())
}

impl ReadRecord {
    fn into_record(self, sequence: u64, id: &TaskId, context: &ContextId) -> Record {
        let fill = |task_id: &mut TaskId, context_id: &mut ContextId| {
            if task_id.is_empty() {
                task_id.clone_from(id);
            }
            if context_id.is_empty() {
                context_id.clone_from(context);
            }
        };
        let response = match self {
            Self::Received(message) => return Record::received(sequence, message),
            Self::Waiting(message) => return Record::waiting(sequence, message),
            Self::ReceivedAs(message, sent) => return Record::received(sequence, message).sent_with(Some(sent)),
            Self::WaitingAs(message, sent) => return Record::waiting(sequence, message).sent_with(Some(sent)),
            Self::SubmittedAs(task, sent) => {
                return Record::update(sequence, StreamResponse::Task(task)).sent_with(Some(sent));
            }
            Self::Begun => return Record::Begun(sequence),
            Self::StatusUpdate(mut update) => {
                fill(&mut update.task_id, &mut update.context_id);
                StreamResponse::StatusUpdate(update)
            }
            Self::Text(artifact, text) => StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: id.clone(),
                context_id: context.clone(),
                artifact: Artifact::new(artifact, vec![Part::text(text)]),
                append: true,
                ..TaskArtifactUpdateEvent::default()
            }),
            Self::ArtifactUpdate(mut update) => {
                fill(&mut update.task_id, &mut update.context_id);
                StreamResponse::ArtifactUpdate(update)
            }
            Self::Task(task) => StreamResponse::Task(task),
            Self::Message(message) => StreamResponse::Message(message),
        };
        Record::update(sequence, response)
    }
}

/// A value in a column of its own.
pub(crate) fn write(value: &impl Serialize) -> Result<String, StoreError> {
    nuncio_model::json::to_string(value).map_err(corrupt)
}

/// Reads JSON that was written here, nested as deep as it was: a limit would make a task that was taken unreadable.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    let mut json = serde_json::Deserializer::from_str(json);
    json.disable_recursion_limit();
    let value = T::deserialize(&mut json).map_err(corrupt)?;
    json.end().map_err(corrupt)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_text_is_written_in_few_bytes_and_read_as_it_was() {
        let (id, context) = (TaskId::from("t"), ContextId::from("c"));
        let piece = |artifact: Artifact, append, last_chunk| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: id.clone(),
                context_id: context.clone(),
                artifact,
                append,
                last_chunk,
                metadata: None,
            })
        };
        let plain = || Artifact::new("a", vec![Part::text("\"x\"")]);
        let typed = Artifact::new("a", vec![Part::text("x").with_media_type("text/csv")]);
        let responses = [
            piece(plain(), false, false),
            piece(plain(), true, false),
            piece(plain().with_name("n"), true, false),
            piece(typed, true, false),
            piece(Artifact::new("a", vec![Part::text(""), Part::text("y")]), true, false),
            piece(plain(), true, true),
        ];
        let records: Vec<_> = (1..).zip(responses).map(|(number, response)| Record::update(number, response)).collect();
        let written = write_records(&records, &id, &context).unwrap();
        assert_eq!(written.matches(r#"{"text":["a","\"x\""]}"#).count(), 1);
        assert_eq!(read_records(&written, 6, &id, &context).unwrap(), records);
    }
}
