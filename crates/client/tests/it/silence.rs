//! Peers that accept a request and send nothing, and slow peers.

use std::{future::pending, io, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use futures_util::{StreamExt as _, stream};
use http::header;
use nuncio_client::{Binding, Client, ClientError, End, Failure, Reconnect, Timeouts};
use nuncio_model::op::GetTaskRequest;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::sleep};

use crate::fake::{Fake, ok, sse, status, status_event, task, task_event};

const SHORT: Duration = Duration::from_millis(100);

/// Longer than the short limits.
const LONG: Duration = Duration::from_millis(400);

/// Only the limits that a test sets.
fn unlimited() -> Timeouts {
    Timeouts::default().with_answer(None)
}

fn client(url: &str, binding: Binding, timeouts: Timeouts) -> Client {
    Client::builder().timeouts(timeouts).endpoint(url, binding).unwrap()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), work).await.expect("it hangs")
}

fn is_late<T>(outcome: &Result<T, ClientError>) -> bool {
    matches!(outcome, Err(ClientError::Transport(Failure::TimedOut { after: SHORT, .. })))
}

/// An agent with this answer.
async fn serve<F: Future<Output = Response> + Send>(
    answer: impl Fn(Request) -> F + Clone + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await.unwrap() });
    url
}

/// The head of an answer, and this body after some time.
fn slow(body: impl Future<Output = Value> + Send + 'static) -> Response {
    let body = stream::once(body).map(|body| Ok::<_, io::Error>(body.to_string()));
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response()
}

#[tokio::test]
async fn a_stream_that_does_not_begin_times_out_over_every_binding() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    for binding in Binding::ALL {
        let client = client(&url, binding, unlimited().with_answer(SHORT));
        assert!(is_late(&within(client.watch("t1")).await), "{binding}");
        let client = self::client(&url, binding, unlimited().with_idle(SHORT));
        assert!(is_late(&within(client.watch("t1")).await), "{binding}");
        assert!(is_late(&within(client.send_stream("hi")).await), "{binding}");
        let client = self::client(&url, binding, unlimited().with_begin(SHORT));
        assert!(is_late(&within(client.send_stream("hi")).await), "{binding}");
    }
    assert!(Timeouts::default().begin.is_some(), "the head of a stream is bounded by default");
}

#[tokio::test]
async fn unanswered_attempts_are_counted() {
    let (subscribed, mut subscriptions) = mpsc::unbounded_channel();
    let url = serve(move |request| {
        let subscribed = subscribed.clone();
        async move {
            if request.uri().path() == "/message:stream" {
                return sse(&[(Some(1), task_event("TASK_STATE_WORKING"))], false);
            }
            subscribed.send(()).unwrap();
            pending().await
        }
    })
    .await;
    let mut reconnect = Reconnect::default();
    (reconnect.attempts, reconnect.first_delay) = (3, Duration::from_millis(5));
    let builder = Client::builder().reconnect(reconnect).timeouts(unlimited().with_answer(SHORT));
    let mut watch = builder.endpoint(&url, Binding::HttpJson).unwrap().send_stream("hi").await.unwrap();
    assert!(within(watch.next()).await.unwrap().is_ok());
    let last = within(watch.next()).await.unwrap();
    assert!(is_late(&last), "{last:?}");
    assert_eq!(watch.end(), Some(End::Lost));
    let mut count = 0;
    while subscriptions.try_recv().is_ok() {
        count += 1;
    }
    assert_eq!(count, 3);
}

#[tokio::test]
async fn a_slow_answer_without_a_stream_times_out() {
    let url = serve(|_| async { slow(pending()) }).await;
    for binding in [Binding::JsonRpc, Binding::HttpJson] {
        let client = client(&url, binding, unlimited().with_answer(SHORT));
        assert!(is_late(&within(client.watch("t1")).await), "{binding}");
        let client = self::client(&url, binding, unlimited().with_idle(SHORT));
        assert!(is_late(&within(client.send_stream("hi")).await), "{binding}");
    }
}

#[tokio::test]
async fn an_agent_may_begin_its_stream_with_its_first_event() {
    let url = serve(|_| async {
        sleep(LONG).await;
        sse(&[(None, task_event("TASK_STATE_COMPLETED"))], true)
    })
    .await;
    let client = client(&url, Binding::HttpJson, unlimited().with_answer(SHORT).with_send(SHORT));
    let mut watch = within(client.send_stream("hi")).await.unwrap();
    assert!(within(watch.next()).await.unwrap().is_ok());
}

/// A stream of 0.3 can start without the task.
#[tokio::test]
async fn a_subscription_to_an_older_agent_may_begin_silently() {
    let url = serve(|request| async {
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let call: Value = serde_json::from_slice(&body).unwrap();
        let task = json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "completed"}});
        let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": task});
        if call["method"] != "tasks/resubscribe" {
            return ok(&answer);
        }
        sleep(LONG).await;
        sse(&[(None, answer)], true)
    })
    .await;
    let builder = Client::builder().version("0.3").timeouts(unlimited().with_answer(SHORT));
    let client = builder.endpoint(&url, Binding::JsonRpc).unwrap();
    let mut watch = within(client.watch("t1")).await.unwrap();
    assert!(within(watch.next()).await.unwrap().is_ok());
}

#[tokio::test]
async fn silence_within_a_plain_answer_is_not_a_stalled_stream() {
    let url = serve(|_| async {
        slow(async {
            sleep(LONG).await;
            json!({"task": task("TASK_STATE_COMPLETED")})
        })
    })
    .await;
    let client = client(&url, Binding::HttpJson, unlimited().with_idle(SHORT));
    within(client.send("hi")).await.unwrap();
}

/// `grpc-timeout` limits a whole call.
#[tokio::test]
async fn streams_have_no_grpc_timeout() {
    let fake = Fake::start(|_, _| status(503, "")).await;
    let client = client(&fake.url, Binding::Grpc, Timeouts::default());
    client.call(GetTaskRequest::new("t1")).await.unwrap_err();
    client.watch("t1").await.unwrap_err();
    client.send_stream("hi").await.unwrap_err();
    let limits: Vec<_> = fake.seen().iter().map(|seen| seen.header("grpc-timeout").to_owned()).collect();
    assert_eq!(limits, ["60000000u", "", ""]);
}

/// A stream of these events, then only comments if `comments`, else silence.
fn open_end(events: &[Value], comments: bool) -> Response {
    let first = events.iter().fold(String::new(), |text, event| format!("{text}data: {event}\n\n"));
    let ticks = stream::unfold((), move |()| async move {
        if !comments {
            pending::<()>().await;
        }
        sleep(SHORT / 4).await;
        Some((": here\n\n".to_owned(), ()))
    });
    let body = stream::iter([first]).chain(ticks).map(Ok::<_, io::Error>);
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

fn stalling() -> Timeouts {
    unlimited().with_stall(SHORT)
}

async fn states(watch: &mut nuncio_client::Watch) -> Vec<String> {
    let mut states = Vec::new();
    while let Some(event) = within(watch.next()).await {
        match &event.unwrap().response {
            nuncio_model::StreamResponse::Task(task) => states.push(format!("task {}", task.state().short())),
            nuncio_model::StreamResponse::StatusUpdate(update) => states.push(update.status.state.short().to_owned()),
            other => panic!("{other:?}"),
        }
    }
    states
}

#[tokio::test]
async fn a_stalled_stream_resumes_until_new_events_arrive_without_duplicates() {
    let fake = Fake::start(|_, fake| {
        let subscriptions = fake.calls().iter().filter(|seen| seen.path == "/tasks/t1:subscribe").count();
        match (fake.calls().len(), subscriptions) {
            (0, _) => open_end(&[task_event("TASK_STATE_SUBMITTED"), status_event("TASK_STATE_WORKING")], false),
            (_, 0..3) => open_end(&[task_event("TASK_STATE_WORKING")], false),
            _ => sse(&[(None, task_event("TASK_STATE_COMPLETED"))], true),
        }
    })
    .await;
    let mut reconnect = Reconnect::default();
    // The exact number of attempts: silence of a stream that makes progress is not a failure.
    (reconnect.attempts, reconnect.first_delay) = (4, Duration::from_millis(5));
    let builder = Client::builder().reconnect(reconnect).timeouts(stalling());
    let mut watch = builder.endpoint(&fake.url, Binding::HttpJson).unwrap().send_stream("hi").await.unwrap();
    assert_eq!(states(&mut watch).await, ["task submitted", "working", "task working", "task completed"]);
    assert_eq!(fake.calls().len(), 5);
}

#[tokio::test]
async fn comments_prevent_a_stall_and_a_slow_start_is_not_a_stall() {
    let url = serve(|request| async move {
        if request.uri().path() != "/message:stream" {
            return status(404, "no further attempt is expected");
        }
        sleep(LONG).await;
        open_end(&[task_event("TASK_STATE_WORKING")], true)
    })
    .await;
    let mut watch = client(&url, Binding::HttpJson, stalling()).send_stream("hi").await.unwrap();
    assert!(within(watch.next()).await.unwrap().is_ok());
    let more = tokio::time::timeout(LONG, watch.next()).await;
    assert!(more.is_err(), "it goes on: {more:?}");
}

#[tokio::test]
async fn attempts_without_progress_end_at_the_time_limit() {
    let (subscribed, mut subscriptions) = mpsc::unbounded_channel();
    let url = serve(move |request| {
        let subscribed = subscribed.clone();
        async move {
            if request.uri().path() == "/message:stream" {
                return open_end(&[task_event("TASK_STATE_WORKING")], false);
            }
            subscribed.send(()).unwrap();
            pending().await
        }
    })
    .await;
    let mut reconnect = Reconnect::default();
    reconnect.first_delay = Duration::from_millis(1);
    reconnect.time_limit = Some(SHORT / 2);
    let builder = Client::builder().reconnect(reconnect).timeouts(stalling());
    let mut watch = builder.endpoint(&url, Binding::HttpJson).unwrap().send_stream("hi").await.unwrap();
    assert!(within(watch.next()).await.unwrap().is_ok());
    let last = within(watch.next()).await.unwrap();
    assert!(is_late(&last), "{last:?}");
    assert_eq!(watch.end(), Some(End::Lost));
    assert!(subscriptions.try_recv().is_ok());
    assert!(subscriptions.try_recv().is_err(), "one of eight attempts took as long as there is patience");
}

#[tokio::test]
async fn a_task_with_silent_streams_is_read() {
    let fake = Fake::start(|seen, fake| match seen.path.as_str() {
        "/message:stream" => open_end(&[task_event("TASK_STATE_WORKING")], false),
        "/tasks/t1:subscribe" => open_end(&[], false),
        _ => {
            let looks = fake.lines().iter().filter(|line| *line == "GET /tasks/t1").count();
            ok(&task(if looks < 2 { "TASK_STATE_WORKING" } else { "TASK_STATE_COMPLETED" }))
        }
    })
    .await;
    let mut reconnect = Reconnect::default();
    (reconnect.attempts, reconnect.first_delay) = (2, Duration::from_millis(1));
    let builder = Client::builder().reconnect(reconnect).timeouts(stalling());
    let mut watch = builder.endpoint(&fake.url, Binding::HttpJson).unwrap().send_stream("hi").await.unwrap();
    assert_eq!(states(&mut watch).await, ["task working", "task completed"]);
}
