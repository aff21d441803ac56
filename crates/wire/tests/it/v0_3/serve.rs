//! The plans of a server for calls of 0.3: streams that end with a final event, and webhooks that are found without
//! their id.

use nuncio_model::{
    Artifact, Call, Error, ErrorKind, Message, Reply, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
    op::{self, ListTaskPushNotificationConfigsResponse},
};
use nuncio_wire::{Dialect, Version, dialect, dialect::Notice};
use serde_json::Value;

use super::{
    caller::{Prepared, all, open, ready, stream},
    v03, written,
};

fn version() -> &'static dyn Dialect {
    dialect(Version::V0_3)
}

pub(super) fn task(state: TaskState) -> StreamResponse {
    let mut task = Task::new("t".into(), "c".into());
    task.status = TaskStatus { state, ..TaskStatus::default() };
    StreamResponse::Task(task)
}

pub(super) fn status(state: TaskState) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: TaskStatus { state, ..TaskStatus::default() },
        metadata: None,
    })
}

pub(super) fn chunk(text: &str, append: bool) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        artifact: Artifact::new("a", vec![text.into()]),
        append,
        ..TaskArtifactUpdateEvent::default()
    })
}

fn send() -> op::SendStreamingMessageRequest {
    op::SendStreamingMessageRequest(op::SendMessageRequest::new(Message::user("hi")))
}

/// The stream that a client of 0.3 gets for these events of an engine: kind, final flag and sequence number.
fn seen(call: impl Into<Call>, events: Vec<StreamResponse>) -> Vec<(Value, Value, Option<u64>)> {
    let served = all(Prepared::with([Ok(stream(events))]).serve(version(), call));
    let shown = served.iter().map(|(sequence, event)| (written(v03(), event), *sequence));
    shown.map(|(event, sequence)| (event["kind"].clone(), event["final"].clone(), sequence)).collect()
}

fn row(kind: &str, last: Option<bool>, sequence: u64) -> (Value, Value, Option<u64>) {
    (kind.into(), last.into(), Some(sequence))
}

#[test]
fn a_stream_ends_after_its_first_final_event_and_keeps_its_sequence_numbers() {
    use TaskState as S;
    for end in [S::Completed, S::Failed, S::Canceled, S::Rejected, S::InputRequired] {
        // The stream of a message continues after a question of an earlier turn.
        let is_asked = end == S::InputRequired;
        let events = vec![
            task(S::Submitted),
            status(S::Working),
            chunk("a", false),
            status(end),
            status(S::Working),
            chunk("b", true),
        ];
        let expected = [
            row("task", None, 1),
            row("status-update", Some(false), 2),
            row("artifact-update", None, 3),
            row("status-update", Some(true), 4),
        ];
        if !is_asked {
            assert_eq!(seen(send(), events.clone()), expected, "{end}");
        }
        assert_eq!(seen(op::SubscribeToTaskRequest::new("t"), events), expected, "{end}");
    }
    // Credentials arrive outside of the stream, and the stream continues.
    let events = vec![task(S::Working), status(S::AuthRequired), status(S::Completed)];
    assert_eq!(seen(send(), events)[1..], [row("status-update", Some(false), 2), row("status-update", Some(true), 3)]);
}

#[test]
fn a_question_ends_the_stream_of_a_message_only_if_no_event_follows() {
    use TaskState as S;
    let asked = || vec![task(S::Working), status(S::InputRequired)];
    let expected = [row("task", None, 1), row("status-update", Some(true), 2)];
    assert_eq!(seen(send(), asked()), expected);
    assert_eq!(seen(op::SubscribeToTaskRequest::new("t"), asked()), expected);
    // The turn of the message comes after the turn that asked the question.
    let events = [asked(), vec![status(S::Working), chunk("a", false), status(S::InputRequired)]].concat();
    let expected = [
        row("task", None, 1),
        row("status-update", Some(false), 2),
        row("status-update", Some(false), 3),
        row("artifact-update", None, 4),
        row("status-update", Some(true), 5),
    ];
    assert_eq!(seen(send(), events), expected);
}

#[test]
fn a_question_is_delivered_while_the_stream_is_silent() {
    let events = open([task(TaskState::Working), status(TaskState::InputRequired)]);
    let shown = ready(Prepared::with([Ok(Reply::Events(events))]).serve(version(), send()));
    let last = written(v03(), &shown[1].1);
    assert_eq!((shown.len(), &last["final"], &last["status"]["state"]), (2, &false.into(), &"input-required".into()));
}

#[test]
fn a_stream_that_ends_with_the_task_itself_gets_a_final_event() {
    let shown = seen(send(), vec![task(TaskState::Completed)]);
    assert_eq!(shown, [row("task", None, 1), ("status-update".into(), true.into(), None)]);
}

#[test]
fn a_stream_that_ends_early_repeats_its_status_as_final() {
    for state in [TaskState::AuthRequired, TaskState::Working] {
        let shown = seen(send(), vec![task(TaskState::Submitted), status(state), chunk("a", true)]);
        let expected = [row("task", None, 1), row("status-update", Some(false), 2), row("artifact-update", None, 3)];
        assert_eq!(shown[..3], expected, "{state}");
        assert_eq!(shown[3..], [("status-update".into(), true.into(), None)], "{state}");
    }
    let served = all(Prepared::with([Ok(stream(vec![task(TaskState::AuthRequired)]))]).serve(version(), send()));
    let StreamResponse::StatusUpdate(last) = &served[1].1 else { panic!("{served:?}") };
    let mut written_in_proto = Vec::new();
    version().rest().unwrap().encode_event(&served[1].1, &mut written_in_proto);
    let shown = [written(v03(), &served[1].1), crate::spec::json(&written_in_proto)["statusUpdate"].clone()];
    for shown in shown {
        assert_eq!((&shown["final"], shown.get("metadata")), (&true.into(), None), "{last:?}");
    }
}

#[test]
fn a_message_ends_a_stream() {
    let answer = StreamResponse::Message(Message::agent("pong"));
    let shown = seen(send(), vec![answer.clone(), answer]);
    assert_eq!(shown, [row("message", None, 1)]);
}

#[test]
fn the_stream_of_an_ended_task_has_the_task_and_a_final_event() {
    let StreamResponse::Task(ended) = task(TaskState::Failed) else { unreachable!() };
    let refusal = || Error::new(ErrorKind::UnsupportedOperation, "it has ended");
    let engine = Prepared::with([Err(refusal()), Ok(Reply::Task(ended.clone().into()))]);
    let events = all(engine.serve(version(), op::SubscribeToTaskRequest::new("t")));
    assert_eq!(events, [(None, StreamResponse::Task(ended)), (None, status(TaskState::Failed))]);
    assert!(matches!(&engine.asked()[1], Call::GetTask(get) if get.id.as_str() == "t"));

    // If the task has not ended, the refusal has another reason.
    let StreamResponse::Task(working) = task(TaskState::Working) else { unreachable!() };
    let engine = Prepared::with([Err(refusal()), Ok(Reply::Task(working.into()))]);
    let error = engine.serve(version(), op::SubscribeToTaskRequest::new("t")).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::UnsupportedOperation, "it has ended"));
    let engine = Prepared::with([Err(Error::task_not_found("t"))]);
    let error = engine.serve(version(), op::SubscribeToTaskRequest::new("t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

fn webhook(id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: Some(id.into()).filter(|id: &nuncio_model::PushConfigId| !id.is_empty()),
        task_id: Some("t".into()),
        url: format!("https://a.example/{id}"),
        ..Default::default()
    }
}

#[test]
fn a_read_without_an_id_finds_the_webhook_of_the_task_or_the_first() {
    let get = |id: &str| op::GetTaskPushNotificationConfigRequest {
        task_id: "t".into(),
        id: id.into(),
        ..Default::default()
    };
    let list = |ids: &[&str]| {
        let configs = ids.iter().map(|id| webhook(id)).collect();
        Ok(Reply::PushConfigs(ListTaskPushNotificationConfigsResponse { configs, ..Default::default() }))
    };
    for (ids, found) in [(&["a", "t", "b"][..], "t"), (&["a", "b"], "a")] {
        let engine = Prepared::with([list(ids)]);
        let Ok(Reply::PushConfig(config)) = engine.serve(version(), get("")) else { panic!() };
        assert_eq!(*config, webhook(found));
        assert!(
            matches!(&engine.asked()[..], [Call::ListTaskPushNotificationConfigs(list)] if list.task_id.as_str() == "t")
        );
    }
    let error = Prepared::with([list(&[])]).serve(version(), get("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    let engine = Prepared::with([Ok(Reply::PushConfig(Box::new(webhook("a"))))]);
    engine.serve(version(), get("a")).unwrap();
    assert_eq!(engine.asked(), [get("a").into()]);
}

#[test]
fn a_webhook_without_an_id_gets_the_id_of_its_task() {
    let made = |call: Call| {
        let engine = Prepared::with([Ok(Reply::Deleted)]);
        engine.serve(version(), call).unwrap();
        engine.asked().remove(0)
    };
    assert_eq!(made(webhook("").into()), TaskPushNotificationConfig { id: Some("t".into()), ..webhook("") }.into());
    assert_eq!(made(webhook("a").into()), webhook("a").into());

    let with = |task: Option<&str>| {
        let config = TaskPushNotificationConfig { task_id: None, ..webhook("") };
        let configuration =
            op::SendMessageConfiguration { task_push_notification_config: Some(config), ..Default::default() };
        let message = Message { task_id: task.map(Into::into), ..Message::user("hi") };
        op::SendMessageRequest::new(message).with_configuration(configuration)
    };
    let id_of = |call: &Call| {
        let send = match call {
            Call::SendMessage(send) => send,
            Call::SendStreamingMessage(send) => &send.0,
            other => panic!("{other:?}"),
        };
        let config = send.configuration.as_ref().unwrap().task_push_notification_config.clone();
        config.unwrap().id.map(|id| id.as_str().to_owned())
    };
    // An empty id becomes the id of the task as soon as the task exists.
    for (task, id) in [(Some("t"), Some("t".to_owned())), (None, Some(String::new()))] {
        assert_eq!(id_of(&made(with(task).into())), id);
        assert_eq!(id_of(&made(op::SendStreamingMessageRequest(with(task)).into())), id);
    }
}

#[test]
fn other_calls_are_unchanged() {
    for call in [
        Call::from(op::GetTaskRequest::new("t")),
        op::CancelTaskRequest::new("t").into(),
        op::SendMessageRequest::new(Message::user("hi")).into(),
    ] {
        let engine = Prepared::with([Ok(Reply::Deleted)]);
        engine.serve(version(), call.clone()).unwrap();
        assert_eq!(engine.asked(), [call]);
    }
}

#[test]
fn webhooks_get_the_task_after_each_status_change() {
    let told = |event: &StreamResponse| [Version::V0_2, Version::V0_3].map(|it| dialect(it).notice(event));
    assert_eq!(told(&task(TaskState::Submitted)), [Notice::Task; 2]);
    assert_eq!(told(&status(TaskState::Working)), [Notice::Task; 2]);
    assert_eq!(told(&chunk("a", false)), [Notice::Nothing; 2]);
    assert_eq!(told(&StreamResponse::Message(Message::agent("hi"))), [Notice::Nothing; 2]);
}
