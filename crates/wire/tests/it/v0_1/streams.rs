//! Streams of 0.1: numbered artifacts, `final` on the last event, and `tasks/resubscribe`.

use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use nuncio_model::{
    Artifact, Call, Caller, Calling, Error, ErrorKind, Message, Reply, Request, StreamEvent, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use serde_json::json;

use super::harness::{OldestClient, all, builder, engine, event, message, summaries, within};

#[tokio::test]
async fn a_task_is_streamed_to_its_last_event() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let events = client.stream("tasks/sendSubscribe", message("t", "chunks")).await;
    let summaries = summaries(&events);
    let artifacts: Vec<_> = summaries.iter().filter(|summary| summary.contains([':', '+'])).collect();
    assert_eq!(artifacts, ["0:one ", "0+two", "1:three"], "{summaries:?}");
    assert_eq!((&*summaries[0], &**summaries.last().unwrap()), ("submitted", "completed."));
    assert_eq!(summaries.iter().filter(|summary| summary.ends_with('.')).count(), 1);
    let last_chunks: Vec<_> = events.iter().filter(|it| it["artifact"]["lastChunk"] == true).collect();
    assert_eq!(last_chunks.len(), 2);
    // The numbers in the task are those of the stream.
    let task = client.get("t").await.unwrap();
    let indices: Vec<_> = task["artifacts"].as_array().unwrap().iter().map(|it| (&it["name"], &it["index"])).collect();
    assert_eq!(indices, [(&json!("report"), &json!(0)), (&json!("appendix"), &json!(1))]);
}

#[tokio::test]
async fn a_question_ends_the_stream_and_the_answer_opens_another() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let asked = client.stream("tasks/sendSubscribe", message("t", "ask")).await;
    assert_eq!(summaries(&asked).last().unwrap(), "input-required.");
    let done = summaries(&client.stream("tasks/sendSubscribe", message("t", "chunks")).await);
    assert!(!done.iter().any(|summary| summary.starts_with("input-required")), "{done:?}");
    assert_eq!(done.last().unwrap(), "completed.");
    let login = summaries(&client.stream("tasks/sendSubscribe", message("u", "log in")).await);
    assert_eq!(login.last().unwrap(), "input-required.");
    let done = summaries(&client.stream("tasks/sendSubscribe", message("u", "chunks")).await);
    assert_eq!(done.last().unwrap(), "completed.");
}

#[tokio::test]
async fn a_resubscription_delivers_the_current_state_and_the_end() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    client.send("t", "chunks").await.unwrap();
    let events = client.stream("tasks/resubscribe", json!({"id": "t"})).await;
    assert_eq!(summaries(&events), ["0:one two", "1:three", "completed."]);
    client.send("u", "ask").await.unwrap();
    assert_eq!(summaries(&client.stream("tasks/resubscribe", json!({"id": "u"})).await), ["input-required."]);

    let mut sent = client.events("tasks/sendSubscribe", message("v", "wait")).await.unwrap();
    within(sent.next()).await.unwrap().unwrap();
    drop(sent);
    let watched = client.events("tasks/resubscribe", json!({"id": "v"})).await.unwrap();
    client.call("tasks/cancel", json!({"id": "v"})).await.unwrap();
    let watched = summaries(&all(watched).await);
    assert_eq!(watched.last().unwrap(), "canceled.");
    assert_eq!(watched.iter().filter(|summary| summary.ends_with('.')).count(), 1);
}

#[tokio::test]
async fn a_question_of_an_earlier_turn_is_not_the_end() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let agent = gate.clone();
    let engine = builder(move |turn| {
        let gate = agent.clone();
        async move {
            if turn.message().text() == "first" {
                gate.acquire().await.unwrap().forget();
                turn.ask("which?").await
            } else {
                turn.complete("done").await
            }
        }
    })
    .build();
    let client = OldestClient(&engine, "ann");
    let first = client.events("tasks/sendSubscribe", message("t", "first")).await.unwrap();
    let second = client.events("tasks/sendSubscribe", message("t", "second")).await.unwrap();
    gate.add_permits(1);
    let second = summaries(&all(second).await);
    assert_eq!(second.last().unwrap(), "completed.", "{second:?}");
    drop(first);
}

/// Answers a lookup with `TaskNotFound`, and a message with these events.
struct Scripted(Mutex<Vec<Result<StreamResponse, Error>>>);

impl Caller for Scripted {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            if let Call::GetTask(call) = request.call {
                Err(Error::task_not_found(call.id.as_str()))
            } else {
                let script = std::mem::take(&mut *self.0.lock().unwrap());
                let events = script.into_iter().map(|it| it.map(|it| Arc::new(StreamEvent::new(None, it))));
                Ok(Reply::Events(Box::pin(stream::iter(events.collect::<Vec<_>>()))))
            }
        })
    }
}

fn status(state: TaskState) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status: TaskStatus::new(state), ..Default::default() })
}

fn artifact(id: &str, text: &str, append: bool) -> StreamResponse {
    let artifact = Artifact::new(id, vec![text.into()]);
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, append, ..Default::default() })
}

async fn received(script: Vec<StreamResponse>) -> Vec<String> {
    let peer = Scripted(Mutex::new(script.into_iter().map(Ok).collect()));
    summaries(&OldestClient(&peer, "ann").stream("tasks/sendSubscribe", message("t", "x")).await)
}

#[tokio::test]
async fn each_stream_ends_with_a_final_event() {
    use TaskState as S;
    let snapshot =
        |state, artifacts| StreamResponse::Task(Task { status: TaskStatus::new(state), artifacts, ..Task::default() });
    let seven = || vec![Artifact::new("7", vec!["a".into()])];
    for (script, expected) in [
        (vec![], vec!["unknown."]),
        (vec![snapshot(S::Working, vec![])], vec!["working", "working."]),
        (vec![status(S::Working), artifact("x", "a", false)], vec!["working", "0:a", "working."]),
        (vec![status(S::InputRequired)], vec!["input-required."]),
        (vec![status(S::InputRequired), status(S::Working)], vec!["input-required", "working", "working."]),
        (vec![status(S::Completed), status(S::Working)], vec!["completed."]),
        (vec![snapshot(S::Failed, seven()), status(S::Working)], vec!["0:a", "failed."]),
        (
            vec![
                snapshot(S::Working, seven()),
                artifact("3", "b", false),
                artifact("7", "c", true),
                status(S::Completed),
            ],
            vec!["working", "0:a", "1:b", "0+c", "completed."],
        ),
        (vec![StreamResponse::Message(Message::agent("hi"))], vec!["0:hi", "completed."]),
    ] {
        assert_eq!(received(script.clone()).await, expected, "{script:?}");
    }
}

#[tokio::test]
async fn an_error_ends_a_stream() {
    let peer =
        Scripted(Mutex::new(vec![Ok(status(TaskState::Working)), Err(Error::new(ErrorKind::Unavailable, "gone"))]));
    let mut events = OldestClient(&peer, "ann").events("tasks/sendSubscribe", message("t", "x")).await.unwrap();
    assert_eq!(event(&events.next().await.unwrap().unwrap().response)["final"], false);
    assert_eq!(events.next().await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(events.next().await.is_none());
}
