//! The JSON of tasks and records. Values that have a column of their own are omitted from the JSON. The module
//! `snapshot` contains the JSON of tasks.

mod snapshot;

use nuncio_engine::{Record, Sent, StoreError};
use nuncio_model::{
    Artifact, ArtifactId, ContextId, Message, Part, PartContentRef, PartRef, StreamResponse, Struct, Task,
    TaskArtifactUpdateEvent, TaskId, TaskStatus, TaskStatusUpdateEvent, json,
};
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned, ser::SerializeSeq as _};

use self::snapshot::{TaskFromJson, TaskJson};
use crate::error::corrupt;

/// The maximum length of a small body, in bytes. Two small bodies fit on one database page.
const SMALL: usize = 1_800;

/// A task, as two columns store it.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) task: String,
    /// `None` if the task has no artifacts.
    pub(crate) artifacts: Option<String>,
}

impl Body {
    pub(crate) fn of(task: &Task) -> Result<Self, StoreError> {
        let length = task.artifacts.iter().map(length_of).sum();
        let write_artifacts = || json::to_long_string(&task.artifacts, length).map_err(corrupt);
        let artifacts = (!task.artifacts.is_empty()).then(write_artifacts).transpose()?;
        Ok(Self { task: write(&TaskJson::of(task))?, artifacts })
    }

    /// Whether the body is stored in the task's own row, which each commit writes again.
    pub(crate) fn is_small(&self) -> bool {
        self.len() <= SMALL
    }

    /// The length of both columns, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.task.len() + self.artifacts.as_ref().map_or(0, String::len)
    }
}

pub(crate) fn read_task(
    id: TaskId,
    context: ContextId,
    body: &str,
    artifacts: Option<&str>,
) -> Result<Task, StoreError> {
    let mut task = read::<TaskFromJson>(body)?.into_task(id, context);
    if let Some(artifacts) = artifacts {
        task.artifacts = read::<Vec<Artifact>>(artifacts)?;
    }
    Ok(task)
}

/// The JSON of a record. The task id and the context id are omitted if they are the ids of the task that owns the log.
/// In logs that the engine writes, the ids are always equal.
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
    /// A piece of text that is appended to an artifact.
    Text(&'a ArtifactId, &'a str),
    /// Several consecutive pieces of text of one artifact, one record per piece. Long logs consist mostly of these.
    Texts(&'a ArtifactId, &'a [&'a str]),
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

struct RecordList<'a> {
    records: &'a [Record],
    id: &'a TaskId,
    context: &'a ContextId,
}

impl Serialize for RecordList<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { mut records, id, context } = *self;
        let mut seq = to.serialize_seq(None)?;
        while let Some((record, others)) = records.split_first() {
            records = others;
            let body = record_body(record, id, context);
            let RecordBody::Text(artifact, text) = body else {
                seq.serialize_element(&body)?;
                continue;
            };
            let text_of = |record| match record_body(record, id, context) {
                RecordBody::Text(other, text) if other == artifact => Some(text),
                _ => None,
            };
            let mut texts = vec![text];
            texts.extend(others.iter().map_while(text_of));
            records = &others[texts.len() - 1..];
            match *texts {
                [text] => seq.serialize_element(&RecordBody::Text(artifact, text))?,
                _ => seq.serialize_element(&RecordBody::Texts(artifact, &texts))?,
            }
        }
        seq.end()
    }
}

/// Serializes the records of a commit as a JSON list.
pub(crate) fn write_records(records: &[Record], id: &TaskId, context: &ContextId) -> Result<String, StoreError> {
    let artifact = |record: &Record| match &record.as_update()?.response {
        StreamResponse::ArtifactUpdate(update) => Some(length_of(&update.artifact)),
        _ => None,
    };
    let length = records.iter().filter_map(artifact).sum();
    json::to_long_string(&RecordList { records, id, context }, length).map_err(corrupt)
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

/// The text of an update that only appends one text; `None` if the update has any other content.
fn text_alone(update: &TaskArtifactUpdateEvent) -> Option<&str> {
    let TaskArtifactUpdateEvent { artifact, append: true, last_chunk: false, metadata: None, .. } = update else {
        return None;
    };
    let Artifact { name: None, description: None, metadata: None, parts, extensions, .. } = artifact else {
        return None;
    };
    parts.only().filter(|part| part.is_bare() && extensions.is_empty())?.as_text()
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
    Texts(ArtifactId, Vec<Box<str>>),
    Task(Task),
    Message(Message),
}

/// Reads the records of a commit. `last` is the sequence number of its last record.
pub(crate) fn read_records(body: &str, last: u64, id: &TaskId, context: &ContextId) -> Result<Vec<Record>, StoreError> {
    let bodies: Vec<ReadRecord> = read(body)?;
    let count = bodies.iter().map(ReadRecord::count).sum::<usize>();
    let before =
        last.checked_sub(count as u64).ok_or_else(|| corrupt("a row contains more records than its number allows"))?;
    let mut records = Vec::with_capacity(count);
    for body in bodies {
        let sequence = before + 1 + records.len() as u64;
        body.put_into(&mut records, sequence, id, context);
    }
    Ok(records)
}

impl ReadRecord {
    /// The number of records that this element represents.
    fn count(&self) -> usize {
        match self {
            Self::Texts(_, texts) => texts.len(),
            _ => 1,
        }
    }

    /// Appends the records of this element to `records`. `sequence` is the number of the first record.
    fn put_into(self, records: &mut Vec<Record>, sequence: u64, id: &TaskId, context: &ContextId) {
        let fill = |task_id: &mut TaskId, context_id: &mut ContextId| {
            if task_id.is_empty() {
                task_id.clone_from(id);
            }
            if context_id.is_empty() {
                context_id.clone_from(context);
            }
        };
        let text_update = |artifact, text: Box<str>| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: id.clone(),
                context_id: context.clone(),
                artifact: Artifact::new(artifact, [Part::text(text)]),
                append: true,
                ..TaskArtifactUpdateEvent::default()
            })
        };
        records.push(match self {
            Self::Received(message) => Record::received(sequence, message),
            Self::Waiting(message) => Record::waiting(sequence, message),
            Self::ReceivedAs(message, sent) => Record::received(sequence, message).sent_with(Some(sent)),
            Self::WaitingAs(message, sent) => Record::waiting(sequence, message).sent_with(Some(sent)),
            Self::SubmittedAs(task, sent) => Record::update(sequence, StreamResponse::Task(task)).sent_with(Some(sent)),
            Self::Begun => Record::Begun(sequence),
            Self::StatusUpdate(mut update) => {
                fill(&mut update.task_id, &mut update.context_id);
                Record::update(sequence, StreamResponse::StatusUpdate(update))
            }
            Self::ArtifactUpdate(mut update) => {
                fill(&mut update.task_id, &mut update.context_id);
                Record::update(sequence, StreamResponse::ArtifactUpdate(update))
            }
            Self::Text(artifact, text) => Record::update(sequence, text_update(artifact, text)),
            Self::Texts(artifact, texts) => {
                let numbered = texts.into_iter().zip(sequence..);
                let record = |(text, number)| Record::update(number, text_update(artifact.clone(), text));
                return records.extend(numbered.map(record));
            }
            Self::Task(task) => Record::update(sequence, StreamResponse::Task(task)),
            Self::Message(message) => Record::update(sequence, StreamResponse::Message(message)),
        });
    }
}

/// Serializes a value that has its own column.
pub(crate) fn write(value: &impl Serialize) -> Result<String, StoreError> {
    json::to_string(value).map_err(corrupt)
}

/// The approximate length of an artifact as JSON, in bytes. Counts the contents of the parts.
fn length_of(artifact: &Artifact) -> usize {
    const AROUND: usize = 12;
    let length_of = |part: PartRef<'_>| match part.content {
        PartContentRef::Text(text) | PartContentRef::Url(text) => text.len(),
        PartContentRef::Raw(bytes) => bytes.len() / 3 * 4,
        PartContentRef::Data(data) => data.as_str().len(),
    };
    artifact.parts.iter().map(|part| AROUND + length_of(part)).sum()
}

/// Reads JSON that this crate wrote, without a limit of the nesting depth: with a limit, an accepted task could become
/// unreadable.
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
    fn a_piece_of_text_has_a_short_form_and_reads_back_unchanged() {
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

    #[test]
    fn consecutive_pieces_of_one_artifact_are_written_as_one_list() {
        let (id, context) = (TaskId::from("t"), ContextId::from("c"));
        let piece = |artifact: &str, text: &str, last_chunk| {
            let artifact = Artifact::new(artifact, vec![Part::text(text)]);
            let (task_id, context_id) = (id.clone(), context.clone());
            let update =
                TaskArtifactUpdateEvent { task_id, context_id, artifact, last_chunk, append: true, metadata: None };
            StreamResponse::ArtifactUpdate(update)
        };
        let write = |pieces: &[(&str, &str, bool)]| {
            let response = |(artifact, text, is_last): &(&str, &str, bool)| piece(artifact, text, *is_last);
            let records: Vec<_> =
                (4..).zip(pieces.iter().map(response)).map(|(at, it)| Record::update(at, it)).collect();
            let written = write_records(&records, &id, &context).unwrap();
            let last = records.last().map_or(0, Record::sequence);
            assert_eq!(read_records(&written, last, &id, &context).unwrap(), records, "{written}");
            written
        };
        assert_eq!(write(&[("a", "1", false), ("a", "2", false)]), r#"[{"texts":["a",["1","2"]]}]"#);
        assert_eq!(
            write(&[("a", "1", false), ("b", "2", false), ("b", "", false), ("b", "4", false), ("a", "5", false)]),
            r#"[{"text":["a","1"]},{"texts":["b",["2","","4"]]},{"text":["a","5"]}]"#,
        );
        let ends = write(&[("a", "1", false), ("a", "2", false), ("a", "3", true), ("a", "4", false)]);
        assert!(ends.starts_with(r#"[{"texts":["a",["1","2"]]},{"artifactUpdate""#), "{ends}");
        assert!(ends.ends_with(r#",{"text":["a","4"]}]"#), "{ends}");
        assert_eq!(write(&[]), "[]");
    }
}
