//! Forms outside of the specification that peers send, and forms that are refused.

use nuncio_model::{ErrorKind, Part, Role, StreamResponse, TaskState};
use serde_json::{Value, json};

use super::{event, v03, written};

fn state(state: &Value) -> TaskState {
    match event(v03(), &json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}})) {
        StreamResponse::Task(task) => task.state(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn states_are_read_in_all_forms() {
    for known in TaskState::ALL {
        for form in [known.short(), known.as_str(), &known.short().to_uppercase().replace('-', "_")] {
            assert_eq!(state(&json!(form)), *known);
        }
        assert_eq!(state(&json!(known.number())), *known);
    }
    for form in ["cancelled", "TASK_STATE_CANCELLED"] {
        assert_eq!(state(&json!(form)), TaskState::Canceled);
    }
    for form in [json!("unknown"), json!("paused"), json!(""), json!(99), Value::Null] {
        assert_eq!(state(&form), TaskState::Unspecified, "{form}");
    }
}

#[test]
fn roles_are_read_in_all_forms() {
    for (form, role) in [
        ("user", Role::User),
        ("ROLE_USER", Role::User),
        ("AGENT", Role::Agent),
        ("ROLE_AGENT", Role::Agent),
        ("system", Role::Unspecified),
    ] {
        let message = json!({"kind": "message", "messageId": "m", "role": form, "parts": []});
        let StreamResponse::Message(message) = event(v03(), &message) else { panic!("{form}") };
        assert_eq!(message.role, role);
    }
    let nobody = StreamResponse::Message(nuncio_model::Message::default());
    assert_eq!(written(v03(), &nobody)["role"], "agent");
}

#[test]
fn an_unknown_role_becomes_user_in_a_request() {
    let read = |role: Value| {
        let message = json!({"messageId": "m", "role": role, "parts": [{"kind": "text", "text": "a"}]});
        super::read(v03(), nuncio_model::Method::SendMessage, &json!({ "message": message }))
    };
    for role in [json!("nobody"), json!("ROLE_SYSTEM"), json!(7)] {
        let nuncio_model::Call::SendMessage(call) = read(role.clone()).unwrap() else { panic!("another call") };
        assert_eq!(call.message.role, Role::User, "{role}");
    }
    for role in [Value::Null, json!(""), json!("unspecified"), json!(0), json!("agent"), json!([])] {
        let error = read(role.clone()).unwrap_err();
        assert_eq!(
            (error.kind(), &*error.field_violations()[0].field),
            (ErrorKind::InvalidParams, "message.role"),
            "{role}"
        );
    }
}

#[test]
fn times_without_an_offset_are_in_utc() {
    for (text, expected) in [
        ("2025-04-02T16:59:25.331844", "2025-04-02T16:59:25.331844Z"),
        ("2025-04-02T16:59:25", "2025-04-02T16:59:25Z"),
        ("2025-04-02T16:59:25.331844+00:00", "2025-04-02T16:59:25.331844Z"),
        ("2025-04-02T16:59:25+02:00", "2025-04-02T14:59:25Z"),
    ] {
        let task = json!({"kind": "task", "id": "t", "status": {"state": "working", "timestamp": text}});
        let again = written(v03(), &event(v03(), &task));
        assert_eq!(again["status"]["timestamp"], expected, "{text}");
    }
    let task = r#"{"kind": "task", "id": "t", "status": {"state": "working", "timestamp": "soon"}}"#;
    let error = v03().decode_event(task.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert!(error.message().contains("status.timestamp"), "{error}");
}

#[test]
fn the_members_of_an_object_without_kind_tell_its_type() {
    let status = json!({"state": "working"});
    let parts = json!([{"text": "hi"}]);
    for (document, kind) in [
        (json!({"id": "t", "contextId": "c", "status": status}), "task"),
        (json!({"messageId": "m", "role": "agent", "parts": parts}), "message"),
        (json!({"taskId": "t", "contextId": "c", "status": status, "final": false}), "status-update"),
        (json!({"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": parts}}), "artifact-update"),
    ] {
        assert_eq!(written(v03(), &event(v03(), &document))["kind"], kind, "{document}");
        // `kind` is neither the first nor the only member, and there are unknown members.
        let mut known = document.clone();
        known["aaa"] = json!([1]);
        known["kind"] = kind.into();
        assert_eq!(event(v03(), &known), event(v03(), &document));
    }
    for document in ["{}", r#"{"kind":"poem"}"#, "7", "null", r#"{"status":"#] {
        let error = v03().decode_event(document.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{document}");
    }
}

fn part(part: &Value) -> Result<Part, String> {
    let message = json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [part]}).to_string();
    match v03().decode_event(message.as_bytes()) {
        Ok(StreamResponse::Message(message)) => Ok(message.parts[0].clone()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.message().to_owned()),
    }
}

#[test]
fn parts_are_read_with_kind_or_type_or_neither() {
    let image = Part::raw([0xfb, 0xff]).with_filename("a.png").with_media_type("image/png");
    let file = json!({"bytes": "+/8", "name": "a.png", "mimeType": "image/png", "uri": null, "size": 2});
    for (json, expected) in [
        (json!({"kind": "text", "text": "hi"}), Part::text("hi")),
        (json!({"type": "text", "text": "hi", "metadata": null}), Part::text("hi")),
        (json!({"text": "hi", "file": null, "data": null}), Part::text("hi")),
        (json!({"kind": "text", "type": "text", "text": "hi", "data": {}}), Part::text("hi")),
        (json!({"type": "file", "file": file}), image.clone()),
        (json!({"file": file}), image),
        (json!({"kind": "file", "file": {"uri": "https://a.example/b"}}), Part::url("https://a.example/b")),
        (
            json!({"kind": "file", "file": {"uri": "https://a.example/b", "bytes": ""}}),
            Part::url("https://a.example/b"),
        ),
        (json!({"kind": "file", "file": {"bytes": ""}}), Part::raw([])),
        (json!({"type": "data", "data": [1]}), Part::data(json!([1]))),
        (json!({"data": {"a": 1}}), Part::data(json!({"a": 1}))),
    ] {
        assert_eq!(part(&json), Ok(expected), "{json}");
    }
    for (json, reason) in [
        (json!({"kind": "text"}), "a part of kind text needs text"),
        (json!({}), "one of text, file and data"),
        (json!({"text": "a", "data": {}}), "exactly one"),
        (json!({"kind": "file", "file": {"name": "a"}}), "one of bytes and uri"),
        (json!({"kind": "file", "file": {"bytes": "AA==", "uri": "b"}}), "both are set"),
        (json!({"kind": "file", "file": {"bytes": "!"}}), "bytes is not base64"),
    ] {
        let error = part(&json).unwrap_err();
        assert!(error.contains(reason) && error.contains("parts[0]"), "{json}: {error}");
    }
}

#[test]
fn data_that_is_not_an_object_is_wrapped_and_unwrapped() {
    let metadata = json!({"a": 1}).as_object().unwrap().clone();
    for data in [json!([1, 2]), json!("text"), json!(7), json!(false), Value::Null] {
        for model in [Part::data(data.clone()), Part::data(data.clone()).with_metadata(metadata.clone())] {
            let message = nuncio_model::Message::agent(model.clone());
            let older = written(v03(), &StreamResponse::Message(message));
            assert_eq!(older["parts"][0]["data"], json!({"value": data}));
            assert_eq!(older["parts"][0]["metadata"]["data_part_compat"], true);
            assert_eq!(part(&older["parts"][0]), Ok(model));
        }
    }
    // The flag without a wrapper, or with another value, is ordinary metadata.
    for (data, flag) in [(json!({"a": 1}), json!(true)), (json!({"value": 1}), json!("yes"))] {
        let older = json!({"kind": "data", "data": data, "metadata": {"data_part_compat": flag}});
        let read = part(&older).unwrap();
        assert_eq!((read.as_data().unwrap(), read.metadata().unwrap().len()), (&data.into(), 1));
    }
}

#[test]
fn empty_ids_count_as_absent() {
    let message =
        json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [], "taskId": "", "contextId": ""});
    let again = written(v03(), &event(v03(), &message));
    assert_eq!((&again["taskId"], &again["contextId"]), (&Value::Null, &Value::Null));
    // A task has a context, even if the peer sends none.
    let task = json!({"kind": "task", "id": "t", "status": {"state": "working"}});
    assert_eq!(written(v03(), &event(v03(), &task))["contextId"], "");
}

#[test]
fn members_in_snake_case_are_read() {
    let event = event(
        v03(),
        &json!({
            "kind": "artifact-update", "task_id": "t", "context_id": "c", "last_chunk": true,
            "artifact": {"artifact_id": "a", "parts": []},
        }),
    );
    let StreamResponse::ArtifactUpdate(update) = event else { panic!() };
    assert_eq!((update.task_id.as_str(), update.context_id.as_str(), update.last_chunk), ("t", "c", true));
    assert_eq!(update.artifact.artifact_id.as_str(), "a");
}

#[test]
fn numbers_are_read_from_text_and_out_of_range() {
    for (form, length) in
        [(json!("3"), 3), (json!(3.0), 3), (json!(9_007_199_254_740_991_u64), i32::MAX), (json!(1e300), i32::MAX)]
    {
        let raw = serde_json::value::to_raw_value(&json!({"id": "t", "historyLength": form})).unwrap();
        let nuncio_model::Call::GetTask(get) = v03().decode_call(nuncio_model::Method::GetTask, Some(&raw)).unwrap()
        else {
            panic!("{form}")
        };
        assert_eq!(get.history_length, Some(length), "{form}");
    }
}
