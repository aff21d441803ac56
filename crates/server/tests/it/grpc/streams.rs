//! Calls that are answered with a stream.

use std::time::Duration;

use http_body_util::BodyExt as _;
use nuncio_model::{
    ErrorKind, StreamResponse, TaskId, TaskState,
    op::{SendStreamingMessageRequest, SubscribeToTaskRequest},
};
use nuncio_server::Limits;
use nuncio_wire::proto::{self, frame::Frames, metadata};

use super::{
    Running,
    client::{Outgoing, text},
};

fn stream(words: &str) -> Outgoing {
    Outgoing::call(SendStreamingMessageRequest(text(words)))
}

fn task_of(event: &StreamResponse) -> TaskId {
    match event {
        StreamResponse::Task(task) => task.id.clone(),
        other => panic!("{other:?}"),
    }
}

fn is_completed(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::StatusUpdate(update) if update.status.state == TaskState::Completed)
}

#[tokio::test]
async fn begins_with_the_task_and_ends_with_its_end() {
    let running = Running::start().await;
    let answer = running.client.send(stream("hello")).await;
    answer.outcome().unwrap();
    let events = answer.events();
    assert!(matches!(events.first(), Some(StreamResponse::Task(_))));
    assert!(events.last().is_some_and(is_completed));
}

#[tokio::test]
async fn events_that_are_ready_share_a_frame_and_none_is_lost() {
    let running = Running::start().await;
    let answer = running.client.send(stream("chunks 2000")).await;
    answer.outcome().unwrap();
    let chunks: Vec<_> = answer
        .events()
        .into_iter()
        .filter_map(|event| match event {
            StreamResponse::ArtifactUpdate(update) => Some(update.artifact.text()),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = (0..2000).map(|chunk| format!("{chunk};")).chain(["end".to_owned()]).collect();
    assert_eq!(chunks, expected);
    assert!(answer.pieces < 1000, "{} pieces", answer.pieces);
}

#[tokio::test]
async fn resumes_behind_the_last_event_that_was_seen() {
    let running = Running::start().await;
    let mut body = running.client.open(stream("silent")).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let mut frames = Frames::new(usize::MAX);
    frames.push(first);
    let task = task_of(&proto::decode_event(&frames.next().unwrap().unwrap()).unwrap());
    let subscribe = || Outgoing::call(SubscribeToTaskRequest::new(task.clone())).header("grpc-timeout", "200m");
    let all = running.client.send(subscribe()).await;
    assert!(matches!(all.events().first(), Some(StreamResponse::Task(_))));
    assert_eq!(all.trailers.unwrap()["last-event-id"], "2");
    let rest = running.client.send(subscribe().header("last-event-id", "1")).await.events();
    assert!(matches!(&rest[..], [StreamResponse::StatusUpdate(update)] if update.status.state == TaskState::Working));
}

#[tokio::test]
async fn an_error_before_the_first_event_is_no_stream() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(SubscribeToTaskRequest::new("nothing"))).await;
    assert_eq!((answer.code(), answer.trailers.is_none()), (5, true));
}

#[tokio::test]
async fn ends_with_unavailable_when_the_server_goes_away() {
    let mut limits = Limits::default();
    limits.drain = Duration::from_millis(50);
    let mut running = Running::with(|builder| builder.limits(limits)).await;
    let mut response = running.client.open(stream("silent")).await;
    response.frame().await.unwrap().unwrap();
    running.stop();
    let mut trailers = None;
    while let Some(frame) = response.frame().await {
        trailers = frame.unwrap().into_trailers().ok().or(trailers);
    }
    let trailers = trailers.unwrap();
    let outcome = metadata::read_outcome(&trailers).unwrap();
    assert!(trailers.contains_key("last-event-id"));
    // The engine fails the task of an agent that it cuts off, and its reader is told, or the server is gone before.
    assert!(outcome.is_ok() || outcome.is_err_and(|error| error.kind() == ErrorKind::Unavailable));
    running.end.await.unwrap();
}
