//! Forms that peers send, and their meaning.

use http::Method as Verb;
use nuncio_model::{Call, Error, Method, Part, PartContent, Reply, Role, StreamResponse, TaskState, op};
use nuncio_wire::rest::Outgoing;
use serde_json::{Value, json};

use super::{grpc, grpc_reply, message, request, rest};
use crate::{proto::oracle, spec};

fn send(body: &Value) -> Result<op::SendMessageRequest, Error> {
    match request(&Verb::POST, "/v1/message:send", &body.to_string())? {
        Call::SendMessage(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

fn part(part: &Value) -> Result<Part, Error> {
    let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [part]}});
    send(&body).map(|mut request| request.message.parts.remove(0))
}

#[test]
fn the_aliases_request_and_parts_are_read() {
    let expected = send(&json!({
        "message": {"messageId": "m", "contextId": "c", "role": "ROLE_USER", "content": [{"text": "a"}]},
        "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 3, "pushNotification": {"url": "u"}},
    }))
    .unwrap();
    assert_eq!(expected.message.role, Role::User);
    let configuration = expected.configuration.as_ref().unwrap();
    assert_eq!(configuration.task_push_notification_config.as_ref().unwrap().url, "u");
    for body in [
        json!({
            "request": {"message_id": "m", "context_id": "c", "role": "user", "parts": [{"kind": "text", "text": "a"}]},
            "configuration": {
                "accepted_output_modes": ["text/plain"], "history_length": 3, "push_notification": {"url": "u"},
            },
        }),
        json!({
            "message": {
                "kind": "message", "messageId": "m", "contextId": "c", "role": "user",
                "parts": [{"type": "text", "text": "a"}],
            },
            "configuration": {
                "acceptedOutputModes": ["text/plain"], "historyLength": 3, "pushNotificationConfig": {"url": "u"},
            },
        }),
    ] {
        assert_eq!(send(&body).unwrap(), expected, "{body}");
    }
}

#[test]
fn both_forms_of_parts_are_read() {
    for (proto, kinded, expected) in [
        (json!({"text": ""}), json!({"kind": "text", "text": ""}), Part::text("")),
        (
            json!({"file": {"fileWithUri": "u", "mimeType": "a/b", "name": "n"}}),
            json!({"kind": "file", "file": {"uri": "u", "mimeType": "a/b", "name": "n"}}),
            Part::url("u").with_media_type("a/b").with_filename("n"),
        ),
        (
            json!({"file": {"file_with_bytes": "-_8", "mime_type": "a/b"}}),
            json!({"kind": "file", "file": {"bytes": "+/8=", "mimeType": "a/b"}}),
            Part::raw([0xfb, 0xff]).with_media_type("a/b"),
        ),
        (
            json!({"data": {"data": {"bed": 4}}}),
            json!({"kind": "data", "data": {"bed": 4}}),
            Part::data(json!({"bed": 4})),
        ),
        (
            json!({"data": {"data": {"data": {"a": 1}}}}),
            json!({"kind": "data", "data": {"data": {"a": 1}}}),
            Part::data(json!({"data": {"a": 1}})),
        ),
        (
            json!({"data": {"data": {"value": [1]}}, "metadata": {"data_part_compat": true, "k": 1}}),
            json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true, "k": 1}}),
            Part::data(json!([1])).with_metadata(json!({"k": 1}).as_object().unwrap().clone()),
        ),
    ] {
        assert_eq!(part(&proto).unwrap(), expected, "{proto}");
        assert_eq!(part(&kinded).unwrap(), expected, "{kinded}");
    }
    // Without a kind and without a wrapper.
    assert_eq!(part(&json!({"data": {"bed": 4}})).unwrap(), Part::data(json!({"bed": 4})));
}

#[test]
fn an_invalid_part_is_refused_with_a_reason() {
    for (json, reason) in [
        (json!({}), "a part needs one of text, file and data"),
        (json!({"text": "a", "data": {"data": {}}}), "exactly one"),
        (json!({"file": {"name": "n"}}), "fileWithUri and fileWithBytes"),
        (json!({"file": {"fileWithUri": "u", "fileWithBytes": ""}}), "not both"),
        (json!({"file": {"fileWithBytes": "*"}}), "is not base64"),
        (json!({"data": [1]}), "data must be an object"),
    ] {
        let error = part(&json).unwrap_err();
        assert!(error.field_violations()[0].field.starts_with("message.content[0]"), "{error}");
        assert!(error.message().contains(reason), "{error}");
    }
}

#[test]
fn base64_in_a_file_of_a_binary_format_is_decoded() {
    let sent = |bytes: &[u8], media_type: &str| {
        let sent = Part::raw(bytes).with_media_type(media_type);
        let mut message = nuncio_model::Message::user(sent);
        message.message_id = "m".into();
        let call = Call::from(op::SendMessageRequest::new(message));
        let Call::SendMessage(read) = super::over_grpc(&call).unwrap() else { panic!("another call") };
        match read.message.parts[0].content.clone() {
            PartContent::Raw(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    };
    // The first bytes of a PNG, from the Python SDK and from other peers.
    let png = b"\x89PNG\r\n\x1a\n";
    assert_eq!(&*sent(b"iVBORw0KGgo=", "image/png"), png);
    assert_eq!(&*sent(png, "image/png"), png);
    assert_eq!(&*sent(b"JVBERi0xLjQ=", "application/pdf; x=y"), b"%PDF-1.4");
    // With these media types, the encoding is unknown.
    for media_type in ["text/plain", "application/octet-stream", ""] {
        assert_eq!(&*sent(b"iVBORw0KGgo=", media_type), b"iVBORw0KGgo=");
    }
    assert_eq!(&*sent(b"", "image/png"), b"");
}

fn configuration(json: &Value) -> Option<op::SendMessageConfiguration> {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "a"}]});
    send(&json!({"message": message, "configuration": json})).unwrap().configuration.map(|it| *it)
}

#[test]
fn a_json_configuration_without_blocking_does_not_block() {
    let at_once = |json: Value| configuration(&json).is_some_and(|it| it.return_immediately);
    for waiting in [json!({"blocking": true}), Value::Null] {
        assert!(!at_once(waiting.clone()), "{waiting}");
    }
    for immediate in [json!({"blocking": false}), json!({"blocking": null}), json!({}), json!({"historyLength": 1})] {
        assert!(at_once(immediate.clone()), "{immediate}");
    }
}

#[test]
fn a_protobuf_configuration_without_blocking_does_not_block() {
    let message_json = json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "a"}]});
    for (json, at_once) in [
        (json!({"message": message_json}), false),
        (json!({"message": message_json, "configuration": {"blocking": true}}), false),
        (json!({"message": message_json, "configuration": {}}), true),
    ] {
        let bytes = prost::Message::encode_to_vec(&oracle::from_json(&message("SendMessageRequest"), &json));
        let Call::SendMessage(call) = grpc().decode_call(Method::SendMessage, &bytes).unwrap() else {
            panic!("another call");
        };
        assert_eq!(call.returns_immediately(), at_once, "{json}");
    }
}

#[test]
fn a_client_always_writes_blocking() {
    let mut asked = op::SendMessageRequest::new(nuncio_model::Message::user("a"));
    let blocking = |request: &op::SendMessageRequest| {
        let Outgoing { body, .. } = rest().encode_call(&Call::from(request.clone())).unwrap();
        spec::json(&body.unwrap())["configuration"]["blocking"].clone()
    };
    assert_eq!(blocking(&asked), true);
    asked.configuration =
        Some(Box::new(op::SendMessageConfiguration { return_immediately: true, ..Default::default() }));
    assert_eq!(blocking(&asked), false);
}

#[test]
fn a_history_length_of_zero_counts_as_absent() {
    let length = |query: &str| match request(&Verb::GET, &format!("/v1/tasks/7{query}"), "").unwrap() {
        Call::GetTask(request) => request.history_length,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(""), None);
    assert_eq!(length("?historyLength=0"), None);
    assert_eq!(length("?historyLength=2"), Some(2));
    assert_eq!(length("?history_length=2&key=x"), Some(2));
    assert_eq!(configuration(&json!({"historyLength": 0})).and_then(|it| it.history_length), None);
    for query in ["?historyLength=x", "?historyLength=-1"] {
        let error = request(&Verb::GET, &format!("/v1/tasks/7{query}"), "").unwrap_err();
        assert_eq!(error.field_violations()[0].field, "historyLength");
    }
}

#[test]
fn a_webhook_is_read_in_all_forms_and_belongs_to_the_task_of_the_path() {
    let inner = json!({"id": "c", "url": "u", "token": "t", "authentication": {"schemes": ["Bearer", "Basic"]}});
    let name = "tasks/other/pushNotificationConfigs/c";
    for body in [
        json!({"parent": "tasks/other", "configId": "c", "config": {"name": name, "pushNotificationConfig": inner}}),
        json!({"config": {"name": name, "push_notification_config": inner}}),
        json!({"config": inner}),
        json!({"name": name, "pushNotificationConfig": inner}),
        json!({"taskId": "other", "pushNotificationConfig": inner}),
        json!({"config_id": "c", "config": {"url": "u", "token": "t", "authentication": {"schemes": ["Bearer"]}}}),
        json!({"name": name, "pushNotificationConfig": {"url": "u", "token": "t", "authentication": {"schemes": ["Bearer"]}}}),
        inner.clone(),
    ] {
        let call = request(&Verb::POST, "/v1/tasks/7/pushNotificationConfigs", &body.to_string()).unwrap();
        let Call::CreateTaskPushNotificationConfig(config) = call else { panic!("{call:?}") };
        assert_eq!(config.task_id.unwrap(), "7", "{body}");
        assert_eq!(config.id.unwrap(), "c", "{body}");
        assert_eq!((&*config.url, config.token.as_deref()), ("u", Some("t")), "{body}");
        assert_eq!(config.authentication.unwrap().scheme, "Bearer", "{body}");
    }
}

#[test]
fn the_authentication_scheme_of_a_webhook_is_optional() {
    let authentication = json!({"schemes": []});
    let body = json!({"configId": "c", "config": {"url": "u", "authentication": authentication}});
    assert!(request(&Verb::POST, "/v1/tasks/7/pushNotificationConfigs", &body.to_string()).is_ok());
    let config = nuncio_model::TaskPushNotificationConfig {
        task_id: Some("7".into()),
        url: "u".to_owned(),
        authentication: Some(nuncio_model::AuthenticationInfo::default()),
        ..Default::default()
    };
    assert!(super::over_grpc(&config.into()).is_ok());
}

#[test]
fn a_client_gives_a_webhook_without_an_id_the_id_of_its_task() {
    let config = nuncio_model::TaskPushNotificationConfig {
        task_id: Some("7".into()),
        url: "u".to_owned(),
        ..Default::default()
    };
    for read in [super::over_rest(&config.clone().into()), super::over_grpc(&config.into())] {
        let Call::CreateTaskPushNotificationConfig(read) = read.unwrap() else { panic!("another call") };
        assert_eq!(read.id.unwrap(), "7");
    }
}

#[test]
fn states_and_roles_are_read_in_all_forms() {
    for (name, expected) in [
        (json!("TASK_STATE_CANCELLED"), TaskState::Canceled),
        (json!("TASK_STATE_CANCELED"), TaskState::Canceled),
        (json!("canceled"), TaskState::Canceled),
        (json!("cancelled"), TaskState::Canceled),
        (json!(5), TaskState::Canceled),
        (json!("input-required"), TaskState::InputRequired),
        (json!("TASK_STATE_AUTH_REQUIRED"), TaskState::AuthRequired),
        (json!("unknown"), TaskState::Unspecified),
        (json!("some-new-state"), TaskState::Unspecified),
        (json!(77), TaskState::Unspecified),
    ] {
        let body = json!({"id": "t", "contextId": "", "status": {"state": name, "update": {"role": "agent"}}});
        let Reply::Task(task) = rest().decode_reply(Method::GetTask, body.to_string().as_bytes()).unwrap() else {
            panic!("another reply");
        };
        assert_eq!(task.state(), expected, "{name}");
        assert_eq!(task.status.message.as_ref().unwrap().role, Role::Agent);
        assert_eq!(task.context_id, None);
    }
}

#[test]
fn an_unknown_role_becomes_user_in_a_request_and_unspecified_in_an_answer() {
    for role in [json!("nobody"), json!("ROLE_SYSTEM"), json!(7)] {
        let message = json!({"messageId": "m", "role": role, "content": [{"text": "a"}]});
        assert_eq!(send(&json!({ "message": message })).unwrap().message.role, Role::User, "{role}");
        let reply = rest().decode_reply(Method::SendMessage, json!({ "message": message }).to_string().as_bytes());
        let Reply::Message(answer) = reply.unwrap() else { panic!("another reply") };
        assert_eq!(answer.role, Role::Unspecified, "{role}");
    }
    // { message: { message_id: "m", role: 7, content: { text: "a" } } }
    let bytes = b"\x0a\x0a\x0a\x01m\x20\x07\x2a\x03\x0a\x01a";
    let Call::SendMessage(read) = grpc().decode_call(Method::SendMessage, bytes).unwrap() else {
        panic!("another call")
    };
    assert_eq!(read.message.role, Role::User);
}

#[test]
fn a_time_without_an_offset_is_in_utc() {
    let body = json!({"id": "t", "status": {"timestamp": "2025-04-02T16:59:25.331844"}});
    let Reply::Task(task) = rest().decode_reply(Method::GetTask, body.to_string().as_bytes()).unwrap() else {
        panic!("another reply");
    };
    assert_eq!(task.status.timestamp.unwrap().to_string(), "2025-04-02T16:59:25.331844Z");
}

#[test]
fn answers_with_a_kind_are_read() {
    let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}});
    for body in [task.clone(), json!({ "task": task })] {
        let reply = rest().decode_reply(Method::SendMessage, body.to_string().as_bytes()).unwrap();
        assert!(matches!(reply, Reply::Task(task) if task.state() == TaskState::Working));
    }
    let message =
        json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "a"}]});
    for body in [message.clone(), json!({ "msg": message }), json!({ "message": message })] {
        let reply = rest().decode_reply(Method::SendMessage, body.to_string().as_bytes()).unwrap();
        assert!(matches!(reply, Reply::Message(message) if message.text() == "a"));
    }
    for (bare, wrapper) in [
        (
            json!({"kind": "status-update", "taskId": "t", "final": true, "status": {"state": "completed"}}),
            "statusUpdate",
        ),
        (json!({"kind": "artifact-update", "taskId": "t", "artifact": {"artifactId": "a"}}), "artifactUpdate"),
    ] {
        let event = rest().decode_event(bare.to_string().as_bytes()).unwrap();
        let wrapped = json!({ wrapper: bare });
        assert_eq!(rest().decode_event(wrapped.to_string().as_bytes()).unwrap(), event);
        assert!(!matches!(event, StreamResponse::Task(_) | StreamResponse::Message(_)));
    }
    let list = json!([{"taskId": "t", "pushNotificationConfig": {"id": "c", "url": "u"}}]);
    let reply = rest().decode_reply(Method::ListTaskPushNotificationConfigs, list.to_string().as_bytes()).unwrap();
    let Reply::PushConfigs(page) = reply else { panic!("{reply:?}") };
    assert_eq!((page.configs[0].task_id.clone().unwrap(), &*page.configs[0].url), ("t".into(), "u"));
}

#[test]
fn events_have_a_final_flag() {
    for (state, is_final) in [("working", false), ("completed", true), ("canceled", true), ("input-required", true)] {
        let event = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}});
        let event = rest().decode_event(event.to_string().as_bytes()).unwrap();
        let (mut json, mut bytes) = (Vec::new(), Vec::new());
        rest().encode_event(&event, &mut json);
        grpc().encode_event(&event, &mut bytes);
        let expected = if is_final { json!(true) } else { Value::Null };
        assert_eq!(spec::json(&json)["statusUpdate"]["final"], expected, "{state}");
        let read = oracle::to_json(&oracle::from_bytes(&message("StreamResponse"), &bytes));
        assert_eq!(read["statusUpdate"]["final"], expected, "{state}");
    }
}

#[test]
fn lists_of_tasks_are_refused_by_client_and_server() {
    let error = request(&Verb::GET, "/v1/tasks", "").unwrap_err();
    assert_eq!(error.kind(), nuncio_model::ErrorKind::UnsupportedOperation);
    let call = Call::ListTasks(op::ListTasksRequest::default());
    for error in [super::over_grpc(&call).unwrap_err(), rest().encode_call(&call).unwrap_err()] {
        assert_eq!(error.kind(), nuncio_model::ErrorKind::UnsupportedOperation);
    }
    assert_eq!(grpc().path(Method::ListTasks), None);
}

#[test]
fn any_answer_to_a_deletion_is_accepted() {
    let method = Method::DeleteTaskPushNotificationConfig;
    for body in ["", "{}", "null"] {
        assert!(matches!(rest().decode_reply(method, body.as_bytes()).unwrap(), Reply::Deleted));
    }
    assert!(grpc_reply(method, &Reply::Deleted).is_empty());
    assert_eq!(super::rest_reply(method, &Reply::Deleted), b"{}");
}
