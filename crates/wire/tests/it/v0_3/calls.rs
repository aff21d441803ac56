//! Every method by its names, and the differences between the two versions.

use nuncio_model::{Call, ErrorKind, Message, Method, TaskPushNotificationConfig, op};
use nuncio_wire::Versions;
use serde_json::{Value, json};

use super::{read, v02, v03};
use crate::spec::{file, json};

#[test]
fn each_specified_method_name_is_known() {
    let facts: Value = file("v0.3/messages.json");
    for name in facts["methods"].as_object().unwrap().keys() {
        let method = v03().method(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(v03().method_name(method), Some(name.as_str()));
        let meant = Versions::default().for_method(None, name).unwrap();
        assert_eq!(meant.dialect.dialect().version().as_str(), "0.3", "{name}");
    }
    let named = Method::ALL.iter().filter(|method| v03().method_name(**method).is_some()).count();
    assert_eq!((named, v03().method_name(Method::ListTasks)), (10, None));
}

#[test]
fn former_method_names_are_accepted() {
    for (alias, method) in [
        ("agent/authenticatedExtendedCard", Method::GetExtendedAgentCard),
        ("tasks/pushNotification/set", Method::CreateTaskPushNotificationConfig),
        ("tasks/pushNotification/get", Method::GetTaskPushNotificationConfig),
    ] {
        assert_eq!((v03().method(alias), v02().method(alias)), (Some(method), Some(method)));
        assert_ne!(v03().method_name(method), Some(alias));
    }
    // A client of 0.2 reads the extended card outside of JSON-RPC, as in all texts of 0.2.
    let card = Method::GetExtendedAgentCard;
    assert_eq!((v02().method_name(card), v03().beside(card)), (None, None));
    assert_eq!(v02().beside(card), Some("/../agent/authenticatedExtendedCard"));
    assert_eq!(v02().beside(Method::GetTask), None);
    assert_eq!(v03().method("tasks/list"), Some(Method::ListTasks));
    let refusal = read(v03(), Method::ListTasks, &json!({})).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::UnsupportedOperation);
}

#[test]
fn wrong_params_have_the_field_names_of_this_family() {
    let fields = |method, params: &Value| -> Vec<String> {
        let error = read(v03(), method, params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        error.field_violations().iter().map(|it| it.field.clone()).collect()
    };
    assert_eq!(fields(Method::SendMessage, &json!({})), ["message"]);
    assert_eq!(fields(Method::SendMessage, &json!({"message": {"parts": []}})), ["message"]);
    let message = json!({"message": {"messageId": "m", "role": "agent", "parts": [{"kind": "text"}]}});
    assert_eq!(fields(Method::SendMessage, &message), ["message.parts[0]", "message.role"]);
    let message = json!({"message": {"messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": ""}]}});
    assert_eq!(fields(Method::SendStreamingMessage, &message), ["message.role"]);
    let error = read(v03(), Method::SendMessage, &message).unwrap_err();
    assert_eq!(error.field_violations()[0].description, "a client sends user");
    assert_eq!(fields(Method::GetTask, &json!({"id": 7})), ["id"]);
    assert_eq!(fields(Method::GetTask, &json!({"id": "t", "historyLength": -1})), ["historyLength"]);
    assert_eq!(fields(Method::CancelTask, &json!({"id": ""})), ["id"]);
    assert_eq!(fields(Method::SubscribeToTask, &json!({})), ["id"]);
    let set = Method::CreateTaskPushNotificationConfig;
    assert_eq!(fields(set, &json!({})), ["taskId", "pushNotificationConfig.url"]);
    assert_eq!(fields(Method::GetTaskPushNotificationConfig, &json!({})), ["id"]);
    assert_eq!(fields(Method::ListTaskPushNotificationConfigs, &json!({})), ["id"]);
    assert_eq!(fields(Method::DeleteTaskPushNotificationConfig, &json!({})), ["id", "pushNotificationConfigId"]);
}

#[test]
fn the_authentication_scheme_of_a_webhook_is_optional() {
    for authentication in [json!({"schemes": []}), json!({}), json!({"credentials": "c", "schemes": []})] {
        let config = json!({"url": "https://x", "authentication": authentication});
        let set = json!({"taskId": "t", "pushNotificationConfig": config});
        let message = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}]});
        let send = json!({"message": message, "configuration": {"pushNotificationConfig": config}});
        for version in [v02(), v03()] {
            let Ok(Call::CreateTaskPushNotificationConfig(read)) =
                read(version, Method::CreateTaskPushNotificationConfig, &set)
            else {
                panic!("{set}")
            };
            assert_eq!(read.authentication.unwrap().scheme, "");
            assert!(super::read(version, Method::SendMessage, &send).is_ok(), "{send}");
        }
    }
}

#[test]
fn a_webhook_can_be_read_without_its_id() {
    for (params, id) in [
        (json!({"id": "t"}), ""),
        (json!({"taskId": "t"}), ""),
        (json!({"id": "t", "pushNotificationConfigId": "c", "metadata": {}}), "c"),
    ] {
        let Call::GetTaskPushNotificationConfig(get) =
            read(v03(), Method::GetTaskPushNotificationConfig, &params).unwrap()
        else {
            panic!("{params}");
        };
        assert_eq!((get.task_id.as_str(), get.id.as_str()), ("t", id), "{params}");
    }
}

fn length_of_get(version: &dyn nuncio_wire::JsonRpcDialect, params: &Value) -> Option<i32> {
    match read(version, Method::GetTask, params).unwrap() {
        Call::GetTask(get) => get.history_length,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_absent_or_zero_history_length_means_all_in_0_3_and_none_in_0_2() {
    for (params, in_0_3, in_0_2) in [
        (json!({"id": "t"}), None, Some(0)),
        (json!({"id": "t", "historyLength": null}), None, Some(0)),
        (json!({"id": "t", "historyLength": 0}), None, Some(0)),
        (json!({"id": "t", "historyLength": 2}), Some(2), Some(2)),
    ] {
        assert_eq!(length_of_get(v03(), &params), in_0_3, "{params}");
        assert_eq!(length_of_get(v02(), &params), in_0_2, "{params}");
    }
    for method in [Method::SendMessage, Method::SendStreamingMessage] {
        let params = json!({
            "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
            "configuration": {"historyLength": 0},
        });
        let length = match read(v03(), method, &params).unwrap() {
            Call::SendMessage(send) => send.history_length(),
            Call::SendStreamingMessage(send) => send.history_length(),
            other => panic!("{other:?}"),
        };
        assert_eq!(length, None);
    }
}

#[test]
fn a_client_always_writes_blocking_and_output_modes() {
    let send = op::SendMessageRequest::new(Message::user("hi"));
    let at_once = op::SendMessageConfiguration { return_immediately: true, ..Default::default() };
    for (call, blocking) in [(send.clone(), true), (send.with_configuration(at_once), false)] {
        for version in [v02(), v03()] {
            let params = json(version.encode_call(&call.clone().into()).unwrap().get().as_bytes());
            assert_eq!(params["configuration"], json!({"acceptedOutputModes": [], "blocking": blocking}));
        }
    }
}

#[test]
fn a_call_blocks_by_default() {
    for (configuration, waits) in [
        (json!({}), true),
        (json!({"blocking": null}), true),
        (json!({"blocking": true}), true),
        (json!({"blocking": false}), false),
    ] {
        let params = json!({
            "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
            "configuration": configuration,
        });
        let Call::SendMessage(send) = read(v03(), Method::SendMessage, &params).unwrap() else { panic!() };
        assert_eq!(!send.returns_immediately(), waits, "{params}");
    }
}

#[test]
fn lists_of_tasks_are_refused_by_client_and_server() {
    let call: Call = op::ListTasksRequest::default().into();
    assert_eq!(v03().encode_call(&call).unwrap_err().kind(), ErrorKind::UnsupportedOperation);
}

#[test]
fn a_scheme_is_a_list_of_at_most_one() {
    let config = |scheme: &str| TaskPushNotificationConfig {
        task_id: Some("t".into()),
        url: "https://a.example".into(),
        authentication: Some(nuncio_model::AuthenticationInfo { scheme: scheme.into(), credentials: None }),
        ..Default::default()
    };
    for (scheme, schemes) in [("", json!([])), ("Bearer", json!(["Bearer"]))] {
        let params = json(v03().encode_call(&config(scheme).into()).unwrap().get().as_bytes());
        assert_eq!(params["pushNotificationConfig"]["authentication"], json!({"schemes": schemes}));
        let read = read(v03(), Method::CreateTaskPushNotificationConfig, &params).unwrap();
        assert_eq!(read, config(scheme).into());
    }
    for schemes in [json!(["Basic", "Bearer"]), json!("Basic")] {
        let params = json!({
            "taskId": "t",
            "pushNotificationConfig": {"url": "https://a.example", "authentication": {"schemes": schemes}},
        });
        assert_eq!(read(v03(), Method::CreateTaskPushNotificationConfig, &params).unwrap(), config("Basic").into());
    }
}
