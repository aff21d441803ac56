//! A bare SSE loop with the events of the demo agent's `stream N`. Each event is serialized when the connection polls
//! for it.

use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::answer::{AnswerPart, Artifact, CONTEXT, Status, TASK, TIME, Task};

#[derive(Debug, Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: Payload<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Payload<'a> {
    Task(Task<'a>),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    status: Status<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    artifact: Artifact<'a>,
    append: bool,
    last_chunk: bool,
}

/// The number N in `stream N …`.
pub(super) fn chunk_count(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    words.next().filter(|&word| word == "stream")?;
    words.next()?.parse().ok()
}

/// The events of a stream: a task, `working`, the chunks, `completed`.
pub(super) fn events(id: u64, chunks: u64) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let payloads = (0..chunks + 3).map(move |position| match position {
        0 => Payload::Task(Task {
            id: TASK,
            context_id: CONTEXT,
            status: status("TASK_STATE_SUBMITTED"),
            artifacts: Vec::new(),
            history: Vec::new(),
        }),
        1 => status_update("TASK_STATE_WORKING"),
        last if last == chunks + 2 => status_update("TASK_STATE_COMPLETED"),
        chunk => artifact_update(chunk - 1, chunks),
    });
    Sse::new(stream::iter(payloads.map(move |result| {
        let envelope = Envelope { jsonrpc: "2.0", id, result };
        // The serialization of strings and numbers cannot fail.
        Ok(Event::default().data(serde_json::to_string(&envelope).unwrap_or_default()))
    })))
}

fn artifact_update(number: u64, chunks: u64) -> Payload<'static> {
    Payload::ArtifactUpdate(ArtifactUpdate {
        task_id: TASK,
        context_id: CONTEXT,
        artifact: Artifact {
            id: "stream-1",
            name: "",
            parts: vec![AnswerPart { text: format!("{:.<64}", format!("chunk {number} ")).into() }],
        },
        append: number > 1,
        last_chunk: number == chunks,
    })
}

fn status(state: &str) -> Status<'_> {
    Status { state, message: None, timestamp: TIME }
}

fn status_update(state: &str) -> Payload<'_> {
    Payload::StatusUpdate(StatusUpdate { task_id: TASK, context_id: CONTEXT, status: status(state) })
}
