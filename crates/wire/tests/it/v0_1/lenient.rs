//! Forms outside of the specification of 0.1 that peers send. The reader accepts the same forms as in later versions.

use nuncio_model::{
    Call, ErrorKind, Method, Part, Reply, Role, StreamResponse, Task, TaskState, op::SendMessageRequest,
};
use serde_json::{Value, json};

use super::harness::v01;

fn call(method: &str, params: &str) -> Call {
    let raw = serde_json::value::RawValue::from_string(params.to_owned()).unwrap();
    v01().decode_call(v01().method(method).unwrap(), Some(&raw)).unwrap_or_else(|error| panic!("{params}: {error}"))
}

fn send(params: &Value) -> SendMessageRequest {
    match call("tasks/send", &params.to_string()) {
        Call::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

fn task(document: &Value) -> Task {
    Task::try_from(v01().decode_reply(Method::GetTask, document.to_string().as_bytes()).unwrap()).unwrap()
}

fn state(state: &Value) -> TaskState {
    task(&json!({"id": "t", "status": {"state": state}})).state()
}

#[test]
fn states_are_read_in_all_forms() {
    for known in TaskState::ALL {
        for form in [known.short(), known.as_str(), &known.short().to_uppercase().replace('-', "_")] {
            assert_eq!(state(&json!(form)), *known, "{form}");
        }
        assert_eq!(state(&json!(known.number())), *known);
    }
    for form in ["cancelled", "TASK_STATE_CANCELLED"] {
        assert_eq!(state(&json!(form)), TaskState::Canceled);
    }
    for form in [json!("unknown"), json!("paused"), json!(""), json!(99), json!(-1), Value::Null] {
        assert_eq!(state(&form), TaskState::Unspecified, "{form}");
    }
}

#[test]
fn roles_are_read_in_all_forms() {
    for (form, role) in [
        (json!("user"), Role::User),
        (json!("ROLE_USER"), Role::User),
        (json!(1), Role::User),
        (json!("AGENT"), Role::Agent),
        (json!("ROLE_AGENT"), Role::Agent),
        (json!("system"), Role::Unspecified),
        (Value::Null, Role::Unspecified),
    ] {
        let message = json!({"role": form, "parts": [{"type": "text", "text": "a"}]});
        let read = task(&json!({"id": "t", "status": {"state": "working"}, "history": [message]}));
        assert_eq!(read.history[0].role, role, "{form}");
        // The sender of a message is the user, unless the role is the agent. The sender of an answer is the agent.
        if role == Role::Unspecified {
            assert_eq!(send(&json!({"id": "t", "message": message})).message.role, Role::User, "{form}");
            let read = task(&json!({"id": "t", "status": {"state": "working", "message": message}}));
            assert_eq!(read.status.message.unwrap().role, Role::Agent, "{form}");
        }
    }
}

#[test]
fn numbers_are_read_from_text_and_out_of_range() {
    let message = json!({"role": "user", "parts": [{"text": "a"}]});
    for (form, length) in [
        (json!(3), 3),
        (json!(3.0), 3),
        (json!("3"), 3),
        (json!(9_007_199_254_740_991_u64), i32::MAX),
        (json!(u64::MAX), i32::MAX),
        (json!(1e300), i32::MAX),
    ] {
        let request = send(&json!({"id": "t", "message": message, "historyLength": form}));
        assert_eq!(request.history_length(), Some(length), "{form}");
    }
    let index = |form: Value| {
        let artifact = json!({"index": form, "parts": [{"text": "a"}]});
        let read = task(&json!({"id": "t", "status": {"state": "working"}, "artifacts": [artifact]}));
        read.artifacts[0].artifact_id.to_string()
    };
    assert_eq!([json!(7), json!("7"), json!(7.0), Value::Null].map(index), ["7", "7", "7", "0"]);
    let raw = serde_json::value::to_raw_value(&json!({"id": "t", "historyLength": 1.5})).unwrap();
    let error = v01().decode_call(Method::GetTask, Some(&raw)).unwrap_err();
    assert_eq!((error.kind(), &*error.field_violations()[0].field), (ErrorKind::InvalidParams, "historyLength"));
}

#[test]
fn snake_case_and_unknown_members_are_accepted() {
    let request = send(&json!({
        "id": "t", "session_id": "s", "history_length": 2, "color": {"of": ["the", "bed"]},
        "push_notification": {"url": "https://hooks.example/a", "authentication": {"scheme": "Bearer"}, "kind": 7},
        "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a", "weight": 3}]},
    }));
    assert_eq!((request.message.context_id.unwrap().as_str(), &*request.message.parts), ("s", &[Part::text("a")][..]));
    let configuration = request.configuration.unwrap();
    assert_eq!(configuration.history_length, Some(2));
    let hook = configuration.task_push_notification_config.unwrap();
    assert_eq!((&*hook.url, &*hook.authentication.unwrap().scheme), ("https://hooks.example/a", "Bearer"));

    let event = json!({"id": "t", "artifact": {"index": 1, "append": null, "last_chunk": true, "parts": null}});
    let StreamResponse::ArtifactUpdate(update) = v01().decode_event(event.to_string().as_bytes()).unwrap() else {
        panic!("{event}")
    };
    assert_eq!((update.artifact.artifact_id.as_str(), update.append, update.last_chunk), ("1", false, true));
    let set = json!({"id": "t", "push_notification_config": {"url": "https://hooks.example/a", "token": ""}});
    let Call::CreateTaskPushNotificationConfig(config) = call("tasks/pushNotification/set", &set.to_string()) else {
        panic!("{set}")
    };
    assert_eq!((&*config.url, config.token), ("https://hooks.example/a", None));
}

#[test]
fn the_last_occurrence_of_a_repeated_member_wins() {
    let Call::GetTask(get) = call("tasks/get", r#"{"id": "a", "id": "b"}"#) else { panic!() };
    assert_eq!(get.id.as_str(), "b");
}

#[test]
fn a_status_with_an_odd_final_flag_is_read() {
    for last in [json!("true"), json!(1), Value::Null] {
        let event = json!({"id": "t", "status": {"state": "working"}, "final": last}).to_string();
        assert!(matches!(v01().decode_event(event.as_bytes()), Ok(StreamResponse::StatusUpdate(_))), "{event}");
    }
}

#[test]
fn documents_that_are_not_answers_are_refused() {
    for document in ["null", "7", "[]", r#"{"id":"t"}"#] {
        let error = v01().decode_event(document.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{document}");
    }
    for document in ["null", "[]", r#""t""#] {
        let error = v01().decode_reply(Method::GetTask, document.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{document}");
    }
    // The task has no webhook.
    let none = v01().decode_reply(Method::GetTaskPushNotificationConfig, b"null").unwrap();
    assert!(matches!(none, Reply::PushConfig(config) if config.url.is_empty() && config.task_id.is_none()));
}
