//! Unusual input that is read, facts of 1.0 that 0.1 cannot carry, and the codes of errors.

use nuncio_model::{
    Call, Error, ErrorKind, Message, Method, Part, PartContent, Reply, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent, Value,
    op::{GetTaskRequest, SendMessageRequest},
};
use nuncio_wire::{
    Dialect as _,
    dialect::Notice,
    v0_1::{METADATA_KEY, V0_1},
};
use proptest::prelude::*;
use serde_json::json;

use super::{
    harness::{event, shown, v01},
    schema::assert_is,
};

fn read(method: &str, params: &Value) -> Result<Call, Error> {
    let raw = serde_json::value::to_raw_value(params).unwrap();
    v01().decode_call(v01().method(method).unwrap(), Some(&raw))
}

fn message(call: Result<Call, Error>) -> SendMessageRequest {
    match call.unwrap() {
        Call::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

fn read_task(document: &Value) -> Task {
    Task::try_from(v01().decode_reply(Method::GetTask, document.to_string().as_bytes()).unwrap()).unwrap()
}

fn written(task: Task) -> Value {
    let mut to = Vec::new();
    v01().encode_reply(Method::GetTask, &Reply::Task(task.into()), &mut to).unwrap();
    let task = crate::spec::json(&to);
    assert_is(&task, "Task");
    task
}

#[test]
fn parts_are_read_in_all_forms() {
    let parts = json!([
        {"type": "text", "text": "a", "metadata": null},
        {"kind": "text", "text": "b"},
        {"text": "c"},
        {"type": "file", "file": {"bytes": "+/8=", "name": "f", "mimeType": "a/b", "uri": null}},
        {"type": "file", "file": {"data": "-_8"}},
        {"file": {"uri": "https://files.example/f"}},
        {"type": "data", "data": [1, 2]},
        {"data": {"bed": 4}, "extra": true},
    ]);
    let request = message(read("tasks/send", &json!({"id": "t", "message": {"role": "user", "parts": parts}})));
    let raw = || Part::raw([0xfb, 0xff]);
    let expected = vec![
        Part::text("a"),
        Part::text("b"),
        Part::text("c"),
        raw().with_filename("f").with_media_type("a/b"),
        raw(),
        Part::url("https://files.example/f"),
        Part::data(json!([1, 2])),
        Part::data(json!({"bed": 4})),
    ];
    assert_eq!(request.message.parts, expected);
}

#[test]
fn wrong_fields_are_named() {
    let parts = |part: Value| json!({"id": "t", "message": {"role": "user", "parts": [part]}});
    for (method, params, field) in [
        ("tasks/send", json!({"id": "t"}), "message"),
        ("tasks/send", json!({"id": "t", "message": {"role": "user", "parts": []}}), "message.parts"),
        ("tasks/send", json!({"id": "t", "message": {"role": "agent", "parts": [{"text": "a"}]}}), "message.role"),
        ("tasks/send", parts(json!({"type": "file", "file": {"name": "f"}})), "message.parts[0]"),
        ("tasks/send", parts(json!({"type": "file", "file": {"bytes": "?"}})), "message.parts[0]"),
        ("tasks/send", parts(json!({"type": "song", "song": "la"})), "message.parts[0]"),
        ("tasks/get", json!({"id": "t", "historyLength": -1}), "historyLength"),
        ("tasks/get", json!({"id": ""}), "id"),
        ("tasks/pushNotification/set", json!({"id": "t", "pushNotificationConfig": {}}), "pushNotificationConfig.url"),
    ] {
        let error = read(method, &params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{params}");
        let fields: Vec<_> = error.field_violations().iter().map(|it| &*it.field).collect();
        assert!(fields.contains(&field), "{params}: {fields:?}");
        assert_eq!(shown(&error)["code"], -32602);
    }
}

#[test]
fn null_members_count_as_absent() {
    let request = message(read(
        "tasks/send",
        &json!({"id": "t", "sessionId": null, "pushNotification": null, "historyLength": null, "metadata": null,
            "message": {"role": "user", "parts": [{"type": "text", "text": "a"}], "metadata": null}}),
    ));
    assert_eq!(request.history_length(), Some(0));
    assert_eq!((request.message.context_id, request.metadata, request.message.metadata), (None, None, None));
    let task = read_task(&json!({"id": "t", "sessionId": null, "status": {"state": "working", "message": null,
        "timestamp": null}, "artifacts": null, "history": null, "metadata": null}));
    assert_eq!(task.state(), TaskState::Working);
}

#[test]
fn unknown_states_and_roles_and_times_without_an_offset_are_read() {
    let task =
        read_task(&json!({"id": "t", "status": {"state": "pondering", "timestamp": "2025-04-02T16:59:25.331844"},
        "history": [{"role": "oracle", "parts": [{"text": "a"}]}]}));
    assert_eq!((task.state(), task.history[0].role), (TaskState::Unspecified, Role::Unspecified));
    assert_eq!(task.status.timestamp.unwrap().to_string(), "2025-04-02T16:59:25.331844Z");
    assert_eq!(written(task)["status"]["state"], "unknown");
}

#[test]
fn states_that_0_1_lacks_survive_a_round_trip() {
    for (state, known) in [(TaskState::Rejected, "failed"), (TaskState::AuthRequired, "input-required")] {
        for message in [None, Some(Box::new(Message::agent("why")))] {
            let status = TaskStatus { message: message.clone(), ..TaskStatus::new(state) };
            let task = Task { status: status.clone(), ..Task::new("t".into(), "c".into()) };
            let document = written(task);
            assert_eq!(document["status"]["state"], known);
            let read = read_task(&document);
            assert_eq!(read.state(), state);
            assert_eq!(read.metadata, None);
            assert_eq!(read.status.message.and_then(|it| it.metadata), None);

            let update = TaskStatusUpdateEvent { task_id: "t".into(), status, ..Default::default() };
            let document = event(&StreamResponse::StatusUpdate(update));
            assert_eq!((&document["status"]["state"], &document["final"]), (&json!(known), &json!(true)));
            let read = v01().decode_event(document.to_string().as_bytes()).unwrap();
            let StreamResponse::StatusUpdate(read) = read else { panic!("{read:?}") };
            assert_eq!((read.status.state, read.metadata), (state, None));
        }
    }
}

#[test]
fn data_that_is_not_an_object_is_wrapped_and_unwrapped() {
    for data in [json!([1, null]), json!("a"), json!(null), json!(4.5), json!(true), json!({"value": 1})] {
        for metadata in [None, Some(json!({"a": 1}))] {
            let mut part = Part::data(data.clone());
            if let Some(Value::Object(metadata)) = metadata {
                part = part.with_metadata(metadata);
            }
            let task = Task { history: vec![Message::user(part.clone())], ..Task::new("t".into(), "c".into()) };
            assert_eq!(read_task(&written(task)).history[0].parts, [part]);
        }
    }
}

#[test]
fn history_is_sent_only_on_request() {
    let asked = |length: Option<i32>| {
        let call = Call::GetTask(GetTaskRequest { history_length: length, ..GetTaskRequest::new("t") });
        serde_json::from_str::<Value>(v01().encode_call(&call).unwrap().get()).unwrap()["historyLength"].clone()
    };
    assert_eq!((asked(Some(0)), asked(Some(3)), asked(None)), (Value::Null, json!(3), json!(i32::MAX)));
}

#[test]
fn errors_have_the_codes_of_0_1() {
    use ErrorKind as K;
    for (kind, code, back) in [
        (K::TaskNotFound, -32001, K::TaskNotFound),
        (K::TaskNotCancelable, -32002, K::TaskNotCancelable),
        (K::PushNotificationNotSupported, -32003, K::PushNotificationNotSupported),
        (K::UnsupportedOperation, -32004, K::UnsupportedOperation),
        (K::ContentTypeNotSupported, -32005, K::ContentTypeNotSupported),
        (K::InvalidAgentResponse, -32603, K::Internal),
        (K::ExtendedAgentCardNotConfigured, -32601, K::MethodNotFound),
        (K::ExtensionSupportRequired, -32600, K::InvalidRequest),
        (K::VersionNotSupported, -32600, K::InvalidRequest),
        (K::Parse, -32700, K::Parse),
        (K::InvalidRequest, -32600, K::InvalidRequest),
        (K::MethodNotFound, -32601, K::MethodNotFound),
        (K::InvalidParams, -32602, K::InvalidParams),
        (K::Internal, -32603, K::Internal),
        (K::Unauthenticated, -32007, K::Unauthenticated),
        (K::PermissionDenied, -32008, K::PermissionDenied),
        (K::PayloadTooLarge, -32600, K::InvalidRequest),
        (K::HeadTooLarge, -32600, K::InvalidRequest),
        (K::MisdirectedRequest, -32600, K::InvalidRequest),
        (K::ResourceExhausted, -32010, K::ResourceExhausted),
        (K::Unavailable, -32011, K::Unavailable),
        (K::DeadlineExceeded, -32603, K::Internal),
    ] {
        let error = shown(&Error::new(kind, "no"));
        assert_eq!((&error["code"], &error["data"]), (&json!(code), &Value::Null), "{kind:?}");
        assert_eq!(v01().kind_of_code(code), Some(back), "{kind:?}");
    }
    for code in [-32006, -32009] {
        assert_eq!(v01().kind_of_code(code), Some(K::UnsupportedOperation));
    }
    assert_eq!(shown(&Error::task_not_found("t"))["data"], json!({"taskId": "t"}));
}

#[test]
fn webhooks_get_stopped_tasks_with_the_ids_of_their_clients() {
    let mut task = Task::new("server".into(), "c".into());
    task.metadata =
        json!({METADATA_KEY: {"taskId": "client", "generation": 2}, "a": 1}).as_object().cloned().map(Box::new);
    task.history.push(Message::user("a"));
    for state in TaskState::ALL.iter().copied() {
        let update = TaskStatusUpdateEvent { status: TaskStatus::new(state), ..Default::default() };
        let rests = state.is_terminal() || state.is_interrupted();
        let expected = if rests { Notice::Task } else { Notice::Nothing };
        assert_eq!(V0_1.notice(&StreamResponse::StatusUpdate(update)), expected, "{state}");
    }
    assert_eq!(V0_1.notice(&StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent::default())), Notice::Nothing);
    task.status.state = TaskState::Completed;
    let mut to = Vec::new();
    V0_1.encode_notice(&StreamResponse::Task(task), &mut to);
    let document = crate::spec::json(&to);
    assert_is(&document, "Task");
    assert_eq!(
        (&document["id"], &document["metadata"], &document["history"]),
        (&json!("client"), &json!({"a": 1}), &Value::Null)
    );
}

fn part() -> impl Strategy<Value = Part> {
    let metadata = prop::option::of(prop::collection::btree_map("[a-c]{1,3}", any::<i32>(), 1..3));
    let content = prop_oneof![
        any::<String>().prop_map(|text| PartContent::Text(text.into())),
        any::<Vec<u8>>().prop_map(|bytes| PartContent::Raw(bytes.into())),
        "[a-z:/]{1,9}".prop_map(|url| PartContent::Url(url.into())),
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), any::<Vec<i32>>().prop_map(Value::from)]
            .prop_map(|data| PartContent::Data(data.into())),
    ];
    (content, metadata).prop_map(|(content, metadata)| match metadata {
        Some(metadata) => {
            Part::new(content).with_metadata(metadata.into_iter().map(|(name, it)| (name, it.into())).collect())
        }
        None => Part::new(content),
    })
}

proptest! {
    #[test]
    fn facts_that_0_1_can_carry_survive(parts in prop::collection::vec(part(), 0..4), state in 0..9_i32, name in prop::option::of(".{1,9}")) {
        let mut task = Task::new("t".into(), "c".into());
        task.status.state = TaskState::from_number(state).unwrap();
        let mut message = Message::new(Role::Agent, parts.clone());
        message.task_id = Some("t".into());
        message.context_id = Some("c".into());
        task.status.message = Some(Box::new(message.clone()));
        task.history.push(message);
        task.artifacts.push(nuncio_model::Artifact { name: name.map(Into::into), ..nuncio_model::Artifact::new("0", parts) });
        let mut read = read_task(&written(task.clone()));
        // Messages of 0.1 have no ids.
        for (message, sent) in read.messages_mut().zip(task.messages()) {
            message.message_id = sent.message_id.clone();
        }
        prop_assert_eq!(read, task);
    }
}
