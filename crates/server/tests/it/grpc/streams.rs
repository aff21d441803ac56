//! Calls with a stream of replies.

use std::time::Duration;

use http_body_util::BodyExt as _;
use nuncio_model::{
    ErrorKind, StreamResponse, TaskId, TaskState,
    op::{SendStreamingMessageRequest, SubscribeToTaskRequest},
    resume,
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
async fn a_stream_begins_with_the_task_and_ends_with_the_task() {
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

/// A working task with two events in its log.
async fn silent(running: &Running) -> TaskId {
    let mut body = running.client.open(stream("silent")).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let mut frames = Frames::new(usize::MAX);
    frames.push(first);
    task_of(&proto::decode_event(&frames.next().unwrap().unwrap()).unwrap())
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event() {
    let running = Running::start().await;
    let task = silent(&running).await;
    let subscribe = || Outgoing::call(SubscribeToTaskRequest::new(task.clone())).header("grpc-timeout", "200m");
    let all = running.client.send(subscribe()).await;
    assert!(matches!(all.events().first(), Some(StreamResponse::Task(_))));
    assert_eq!(all.trailers.unwrap()["last-event-id"], "2");
    for name in [resume::PARAMETER, "last-event-id"] {
        let rest = running.client.send(subscribe().header(name, "1")).await.events();
        assert!(matches!(&rest[..], [StreamResponse::StatusUpdate(it)] if it.status.state == TaskState::Working));
        assert_eq!(running.client.send(subscribe().header(name, "2")).await.events(), []);
        for (wrong, why) in [("x", resume::INVALID), ("3", resume::AHEAD)] {
            let answer = running.client.send(subscribe().header(name, wrong)).await;
            assert_eq!((answer.code(), answer.error().kind()), (3, ErrorKind::InvalidParams));
            assert_eq!(
                (&*answer.facts()[resume::FACT], &*answer.error().field_violations()[0].field),
                (why, resume::PARAMETER)
            );
        }
    }
    let ended = running.client.send(stream("hello")).await;
    let subscribe = Outgoing::call(SubscribeToTaskRequest::new(task_of(&ended.events()[0])));
    let answer = running.client.send(subscribe.header(resume::PARAMETER, "1")).await;
    assert_eq!((answer.code(), &*answer.facts()[resume::FACT]), (9, resume::EXPIRED));
}

#[tokio::test]
async fn events_have_ids_if_the_client_requests_the_extension() {
    let running = Running::start().await;
    let plain = running.client.send(stream("chunks 100")).await;
    assert!(plain.headers.get("a2a-extensions").is_none());
    assert!(plain.events().iter_mut().all(|event| resume::take(event).is_none()));
    let answer = running.client.send(stream("chunks 100").header("a2a-extensions", resume::URI)).await;
    assert_eq!(answer.headers["a2a-extensions"], resume::URI);
    let mut events = answer.events();
    let told: Vec<_> = events.iter_mut().map(|event| resume::take(event).unwrap()).collect();
    assert_eq!(told, (1..=told.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.len(), plain.events().len());
}

#[tokio::test]
async fn an_error_before_the_first_event_has_no_stream() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(SubscribeToTaskRequest::new("nothing"))).await;
    assert_eq!((answer.code(), answer.trailers.is_none()), (5, true));
}

#[tokio::test]
async fn a_stream_ends_with_unavailable_at_the_shutdown() {
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
    // The engine fails the task of an agent that it aborts. The reader gets this event, or the server ends before.
    assert!(outcome.is_ok() || outcome.is_err_and(|error| error.kind() == ErrorKind::Unavailable));
    running.end.await.unwrap();
}
