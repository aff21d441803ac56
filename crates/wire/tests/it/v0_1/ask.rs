//! A client of 0.1, with an engine behind its own dialect, and with peers that send only the required members.

use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use nuncio_model::{
    Call, Caller, Calling, Error, ErrorKind, EventStream, Message, Reply, Request, Scope, StreamEvent, StreamResponse,
    Task, TaskPushNotificationConfig, TaskState,
    op::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
        SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};
use nuncio_wire::{Version, dialect, dialect::Plan};
use serde_json::{Value, json};

use super::harness::{Remote, ask, engine, status_text, task, v01, within};

fn send(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

fn follow(of: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text).with_task_id(of.id.clone()))
}

fn events(reply: Reply) -> EventStream {
    EventStream::try_from(reply).unwrap()
}

async fn summaries(events: EventStream) -> Vec<String> {
    within(events.map(|it| summary(&it.unwrap().response)).collect()).await
}

fn summary(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => {
            let texts: Vec<_> = task.artifacts.iter().map(nuncio_model::Artifact::text).collect();
            format!("task:{}{texts:?}", task.state().short())
        }
        StreamResponse::StatusUpdate(update) => update.status.state.short().to_owned(),
        StreamResponse::ArtifactUpdate(update) => {
            let sign = if update.append { "+" } else { ":" };
            format!("{}{sign}{}", update.artifact.artifact_id, update.artifact.text())
        }
        StreamResponse::Message(_) => "message".to_owned(),
    }
}

#[tokio::test]
async fn tasks_are_created_continued_read_and_canceled() {
    let peer = Remote(engine());
    let asked = task(ask(&peer, send("ask")).await.unwrap());
    assert_eq!((asked.state(), &*status_text(&asked)), (TaskState::InputRequired, "which bed?"));
    assert!(asked.context_id.is_some());
    let read = task(ask(&peer, GetTaskRequest::new(asked.id.clone())).await.unwrap());
    assert_eq!((&read.id, &read.context_id, read.history.len()), (&asked.id, &asked.context_id, 1));
    assert_eq!(read.history[0].context_id, asked.context_id);
    let done = task(ask(&peer, follow(&asked, "water")).await.unwrap());
    assert_eq!((&done.id, done.state(), &*status_text(&done)), (&asked.id, TaskState::Completed, "did water"));
    let refused = ask(&peer, CancelTaskRequest { id: done.id.clone(), ..Default::default() }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TaskNotCancelable);
    let rejected = task(ask(&peer, send("reject")).await.unwrap());
    assert_eq!(rejected.state(), TaskState::Rejected);
}

#[tokio::test]
async fn a_stream_begins_with_its_task() {
    let peer = Remote(engine());
    let stream = |request| SendStreamingMessageRequest(request);
    let all: Vec<_> = within(events(ask(&peer, stream(send("chunks"))).await.unwrap()).collect()).await;
    let all: Vec<_> = all.into_iter().map(|it| it.unwrap().response.clone()).collect();
    let told: Vec<_> = all.iter().map(summary).collect();
    assert_eq!(told[0], "task:submitted[]");
    assert_eq!(told.last().unwrap(), "completed");
    assert!(told.ends_with(&["0:one ".into(), "0+two".into(), "1:three".into(), "completed".into()]), "{told:?}");
    let StreamResponse::Task(first) = &all[0] else { panic!("{all:?}") };
    for event in &all[1..] {
        let (task, context) = match event {
            StreamResponse::StatusUpdate(it) => (&it.task_id, &it.context_id),
            StreamResponse::ArtifactUpdate(it) => (&it.task_id, &it.context_id),
            other => panic!("{other:?}"),
        };
        assert_eq!((task, Some(context)), (&first.id, first.context_id.as_ref()));
    }
    let asked = task(ask(&peer, send("ask")).await.unwrap());
    let told = summaries(events(ask(&peer, stream(follow(&asked, "chunks"))).await.unwrap())).await;
    assert!(told[0].starts_with("task:working"), "{told:?}");
    assert_eq!(told.last().unwrap(), "completed");
}

#[tokio::test]
async fn a_subscription_begins_with_the_current_task() {
    let peer = Remote(engine());
    let mut sent = events(ask(&peer, SendStreamingMessageRequest(send("wait"))).await.unwrap());
    let first = within(sent.next()).await.unwrap().unwrap();
    let StreamResponse::Task(first) = &first.response else { panic!("{first:?}") };
    let watched = events(ask(&peer, SubscribeToTaskRequest::new(first.id.clone())).await.unwrap());
    ask(&peer, CancelTaskRequest { id: first.id.clone(), ..Default::default() }).await.unwrap();
    let told = summaries(watched).await;
    assert!(told[0].starts_with("task:"), "{told:?}");
    assert_eq!(told.last().unwrap(), "canceled");
    let ended = summaries(events(ask(&peer, SubscribeToTaskRequest::new(first.id.clone())).await.unwrap())).await;
    assert_eq!(ended, ["task:canceled[]"]);
}

#[tokio::test]
async fn a_webhook_keeps_the_id_from_its_caller() {
    let peer = Remote(engine());
    let asked = task(ask(&peer, send("ask")).await.unwrap());
    let get =
        GetTaskPushNotificationConfigRequest { task_id: asked.id.clone(), id: "mine".into(), ..Default::default() };
    assert_eq!(ask(&peer, get.clone()).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    let mut config = TaskPushNotificationConfig {
        id: Some("mine".into()),
        task_id: Some(asked.id.clone()),
        url: "https://hooks.example/".to_owned(),
        ..Default::default()
    };
    let created = TaskPushNotificationConfig::try_from(ask(&peer, config.clone()).await.unwrap()).unwrap();
    assert_eq!(created, config);
    assert_eq!(TaskPushNotificationConfig::try_from(ask(&peer, get).await.unwrap()).unwrap(), config);
    config.id = None;
    let created = TaskPushNotificationConfig::try_from(ask(&peer, config).await.unwrap()).unwrap();
    assert_eq!(created.id.unwrap().as_str(), asked.id.as_str());
}

#[tokio::test]
async fn operations_that_0_1_lacks_are_refused_with_their_name() {
    let list = ListTaskPushNotificationConfigsRequest::default();
    let error = v01().encode_call(&list.into()).unwrap_err();
    let message = "version 0.1 has no ListTaskPushNotificationConfigs";
    assert_eq!((error.kind(), error.message()), (ErrorKind::UnsupportedOperation, message));
    // All versions without a list of tasks have the same message.
    let message = "versions before 1.0 cannot list tasks; read them one by one";
    for version in [Version::V0_1, Version::V0_2, Version::V0_3] {
        let request = Request::new(Scope::open(), ListTasksRequest::default());
        let peer = Scripted::new(vec![], vec![]);
        let Plan::Steps(steps) = dialect(version).ask(request, &peer) else { panic!("the plan must have steps") };
        let error = within(steps).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::UnsupportedOperation, message));
    }
}

/// A peer with prepared answers.
struct Scripted {
    replies: Mutex<Vec<Value>>,
    events: Vec<Value>,
    /// Keeps the stream open after the last event.
    stays: bool,
    asked: Mutex<Vec<Call>>,
}

impl Scripted {
    fn new(replies: Vec<Value>, events: Vec<Value>) -> Self {
        Self { replies: Mutex::new(replies), events, stays: false, asked: Mutex::default() }
    }
}

impl Caller for Scripted {
    fn call(&self, request: Request) -> Calling<'_> {
        let method = request.call.method();
        self.asked.lock().unwrap().push(request.call);
        Box::pin(async move {
            if !method.is_streaming() {
                let reply = self.replies.lock().unwrap().remove(0);
                return v01().decode_reply(method, reply.to_string().as_bytes());
            }
            let decode = |it: &Value| v01().decode_event(it.to_string().as_bytes());
            let told: Vec<_> = self.events.iter().map(|it| Ok(Arc::new(StreamEvent::new(None, decode(it)?)))).collect();
            let told = stream::iter(told);
            Ok(Reply::Events(if self.stays { Box::pin(told.chain(stream::pending())) } else { Box::pin(told) }))
        })
    }
}

#[tokio::test]
async fn new_messages_get_a_task_id_and_a_session() {
    let working = json!({"id": "x", "status": {"state": "working"}});
    let peer = Scripted::new(vec![working.clone(), working], vec![]);
    let one = task(ask(&peer, send("a")).await.unwrap());
    let asked = peer.asked.lock().unwrap().clone();
    let Call::SendMessage(sent) = &asked[0] else { panic!("{asked:?}") };
    assert_eq!(uuid_version(sent.message.task_id.as_ref().unwrap().as_str()), b'4');
    assert_eq!(one.context_id, sent.message.context_id);
    assert!(one.context_id.is_some());
    // A message to a task creates neither a task id nor a session.
    let two = task(ask(&peer, follow(&one, "b")).await.unwrap());
    assert_eq!(two.context_id, None);
}

fn at_once(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    send(text).with_configuration(configuration)
}

#[tokio::test]
async fn an_immediate_return_ends_the_stream_at_its_first_event() {
    let mut peer = Scripted::new(vec![], vec![json!({"id": "x", "status": {"state": "working"}})]);
    peer.stays = true;
    let begun = task(ask(&peer, at_once("a")).await.unwrap());
    assert_eq!(begun.state(), TaskState::Working);
    let asked = peer.asked.lock().unwrap().clone();
    let [Call::SendStreamingMessage(SendStreamingMessageRequest(sent))] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((sent.message.task_id.as_ref(), &sent.message.context_id), (Some(&begun.id), &begun.context_id));
    // The task continues without a reader.
    let peer = Remote(engine());
    let begun = task(ask(&peer, at_once("wait")).await.unwrap());
    assert!(!begun.state().is_terminal(), "{begun:?}");
    let canceled = ask(&peer, CancelTaskRequest { id: begun.id.clone(), ..Default::default() }).await.unwrap();
    assert_eq!(task(canceled).state(), TaskState::Canceled);
}

#[tokio::test]
async fn an_immediate_return_waits_if_the_agent_does_not_stream() {
    struct Still(Scripted);
    impl Caller for Still {
        fn call(&self, request: Request) -> Calling<'_> {
            if request.call.method().is_streaming() {
                let error = r#"{"code": -32006, "message": "Streaming is not supported"}"#;
                let body = format!(r#"{{"jsonrpc": "2.0", "id": 1, "error": {error}}}"#);
                let (_, result) = nuncio_wire::jsonrpc::parse_response(v01(), body.as_bytes()).unwrap();
                return Box::pin(std::future::ready(Err(result.unwrap_err())));
            }
            self.0.call(request)
        }
    }
    let done = json!({"id": "x", "status": {"state": "completed"}});
    let peer = Still(Scripted::new(vec![done], vec![]));
    assert_eq!(task(ask(&peer, at_once("a")).await.unwrap()).state(), TaskState::Completed);
    assert_eq!(peer.0.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn events_between_subscription_and_read_are_delivered_once() {
    let piece = |text: &str| json!({"id": "x", "artifact": {"index": 0, "append": true, "parts": [{"type": "text", "text": text}]}});
    let part = |text: &str| json!({"type": "text", "text": text});
    let read = json!({"id": "x", "status": {"state": "working"}, "artifacts": [{"index": 0, "parts": [part("a"), part("b")]}]});
    let end = json!({"id": "x", "status": {"state": "completed"}, "final": true});
    let peer = Scripted::new(vec![read], vec![piece("b"), piece("c"), end]);
    let told = summaries(events(ask(&peer, SubscribeToTaskRequest::new("x")).await.unwrap())).await;
    assert_eq!(told, [r#"task:working["ab"]"#, "0+c", "completed"]);
    let asked = peer.asked.lock().unwrap().clone();
    assert!(matches!(asked[..], [Call::SubscribeToTask(_), Call::GetTask(_)]), "{asked:?}");
}

fn uuid_version(id: &str) -> u8 {
    id.as_bytes()[14]
}

#[tokio::test]
async fn history_is_limited_to_the_requested_length() {
    let message = |text: &str| json!({"role": "user", "parts": [{"type": "text", "text": text}]});
    let full =
        json!({"id": "x", "status": {"state": "working"}, "history": [message("a"), message("b"), message("c")]});
    let peer = Scripted::new(vec![full.clone(), full.clone(), full], vec![]);
    let texts = |task: Task| task.history.iter().map(Message::text).collect::<Vec<_>>();
    let get = |history_length| GetTaskRequest { history_length, ..GetTaskRequest::new("x") };
    assert_eq!(texts(task(ask(&peer, get(Some(2))).await.unwrap())), ["b", "c"]);
    assert_eq!(texts(task(ask(&peer, get(None)).await.unwrap())), ["a", "b", "c"]);
    let none = SendMessageConfiguration { history_length: Some(0), ..Default::default() };
    assert!(texts(task(ask(&peer, send("d").with_configuration(none)).await.unwrap())).is_empty());
}

#[tokio::test]
async fn a_stream_without_a_task_gets_one_and_an_open_stream_ends_after_the_last_event() {
    let artifact = |text: &str, append: bool| json!({"id": "x", "artifact": {"index": 2, "append": append, "parts": [{"type": "text", "text": text}]}});
    let end = json!({"id": "x", "status": {"state": "completed"}, "final": true});
    let mut peer = Scripted::new(vec![], vec![artifact("a", false), artifact("b", true), end]);
    peer.stays = true;
    let told = summaries(events(ask(&peer, SendStreamingMessageRequest(send("x"))).await.unwrap())).await;
    assert_eq!(told, ["task:working[]", "2:a", "2+b", "completed"]);
}

#[tokio::test]
async fn errors_of_a_peer_are_passed_on() {
    struct Down;
    impl Caller for Down {
        fn call(&self, _request: Request) -> Calling<'_> {
            Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "down")) })
        }
    }
    let error = ask(&Down, SubscribeToTaskRequest::new("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}
