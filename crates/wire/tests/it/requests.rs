//! Calls as JSON-RPC params and as HTTP+JSON requests: validation and priorities.

use http::Method as Verb;
use nuncio_model::{
    AuthenticationInfo, Call, Error, ErrorKind, Message, Method, Reply, Task, TaskPushNotificationConfig, TaskState,
    Tenant,
    op::{
        CancelTaskRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
        SendMessageRequest, SubscribeToTaskRequest,
    },
};
use nuncio_wire::{JsonRpcDialect, RestDialect, Version, card, dialect, proto, rest};
use serde_json::{json, value::RawValue};

fn rpc() -> &'static dyn JsonRpcDialect {
    dialect(Version::V1_0).jsonrpc()
}

fn web() -> &'static dyn RestDialect {
    dialect(Version::V1_0).rest().unwrap()
}

fn params(method: Method, params: &str) -> Result<Call, Error> {
    rpc().decode_call(method, Some(&RawValue::from_string(params.to_owned()).unwrap()))
}

fn request(verb: &str, target: &str, body: &str) -> Result<Call, Error> {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let routed = web().route(&verb.parse().unwrap(), path).unwrap();
    rest::decode_call(web(), &routed, query, Some(rest::CONTENT_TYPE), body.as_bytes())
}

/// The fields in an error.
fn fields(outcome: Result<Call, Error>) -> Vec<String> {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error}");
    error.field_violations().iter().map(|it| it.field.clone()).collect()
}

#[test]
fn every_wrong_field_of_a_message_is_named() {
    let body = r#"{"message":{"contextId":7,"role":"ROLE_KING","parts":[{"text":"a"},{"text":1},{},{"url":"u","mediaType":2}]},
        "configuration":{"historyLength":-1,"acceptedOutputModes":"x"}}"#;
    let expected = [
        "configuration.acceptedOutputModes",
        "configuration.historyLength",
        "message.contextId",
        "message.messageId",
        "message.parts[1].text",
        "message.parts[2]",
        "message.parts[3].mediaType",
        "message.role",
    ];
    let sorted = |outcome| {
        let mut fields = fields(outcome);
        fields.sort();
        fields
    };
    assert_eq!(sorted(params(Method::SendMessage, body)), expected);
    assert_eq!(sorted(params(Method::SendStreamingMessage, body)), expected);
    assert_eq!(sorted(request("POST", "/message:send", body)), expected);
    // Names in snake_case are of the same fields, and wrong webhooks are named as a whole.
    let body = r#"{"message":{"message_id":7,"role":1,"parts":[]},"configuration":{"taskPushNotificationConfig":{"url":1,"authentication":{"scheme":2}}}}"#;
    assert_eq!(
        sorted(params(Method::SendMessage, body)),
        [
            "configuration.taskPushNotificationConfig.authentication.scheme",
            "configuration.taskPushNotificationConfig.url",
            "message.message_id",
            "message.parts",
        ]
    );
    let get = params(Method::GetTask, r#"{"id":1,"historyLength":"x"}"#);
    assert_eq!(fields(get), ["id", "historyLength"]);
    assert_eq!(fields(request("GET", "/tasks/t?historyLength=x&tenant=a&history_length=y", "")), ["historyLength"]);
    let webhook = r#"{"url":1,"authentication":{"scheme":""},"id":{}}"#;
    let fields = sorted(request("POST", "/tasks/t/pushNotificationConfigs", webhook));
    assert_eq!(fields, ["authentication.scheme", "id", "url"]);
    // The whole stays the whole.
    assert_eq!(sorted(params(Method::SendMessage, "[]")), ["params"]);
    assert_eq!(sorted(params(Method::SendMessage, r#"{"message":[]}"#)), ["message"]);
}

#[test]
fn wrong_params_name_their_field() {
    let send = |json: &str| fields(params(Method::SendMessage, json));
    assert_eq!(send("{}"), ["message"]);
    assert_eq!(send(r#"{"message":{"parts":[]}}"#), ["message"]);
    assert_eq!(send(r#"{"message":{"messageId":"m"}}"#), ["message.role", "message.parts"]);
    let with = |message: &str| send(&format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER",{message}}}}}"#));
    assert_eq!(with(r#""parts":[{"text":"a"},{}]"#), ["message.parts[1]"]);
    assert_eq!(with(r#""parts":[{"text":7}]"#), ["message.parts[0].text"]);
    assert_eq!(with(r#""parts":[{"raw":"*"}]"#), ["message.parts[0].raw"]);
    assert_eq!(with(r#""parts":[{"raw":7}]"#), ["message.parts[0].raw"]);
    assert_eq!(with(r#""parts":"x""#), ["message.parts"]);
    assert_eq!(with(r#""parts":[{"text":"a"}],"metadata":[]"#), ["message.metadata"]);
    assert_eq!(send(r#"{"message":{"messageId":"m","role":"ROLE_KING","parts":[{"text":"a"}]}}"#), ["message.role"]);
    assert_eq!(send(r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}"#), ["message.role"]);
    let config =
        r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"a"}]},"configuration":{"historyLength":-1}}"#;
    assert_eq!(send(config), ["configuration.historyLength"]);
    assert_eq!(fields(params(Method::ListTasks, r#"{"pageSize":0}"#)), ["pageSize"]);
    assert_eq!(fields(params(Method::ListTasks, r#"{"status":"working"}"#)), ["status"]);
    assert_eq!(fields(params(Method::ListTasks, r#"{"statusTimestampAfter":"yesterday"}"#)), ["statusTimestampAfter"]);
    for (method, wrong) in [(Method::GetTask, "[]"), (Method::GetTask, "7"), (Method::ListTasks, "\"x\"")] {
        assert_eq!(fields(params(method, wrong)), ["params"], "{wrong}");
    }
    let error = params(Method::SendMessage, r#"{"message":{"parts":[{"text":7}]}}"#).unwrap_err();
    assert_eq!(error.message(), "message.parts[0].text: invalid type: integer `7`, expected a string");
}

#[test]
fn an_error_names_a_lone_surrogate() {
    for text in [r"\ud800", r"\udfff", r"a\ud83dz", r"\ud83d\n", r"\ud800\u0041", r"\ude00\ud83d"] {
        let json = format!(r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"text":"{text}"}}]}}}}"#);
        for outcome in [params(Method::SendMessage, &json), request("POST", "/message:send", &json)] {
            let error = outcome.unwrap_err();
            assert_eq!(error.field_violations()[0].field, "message.parts[0].text", "{text}");
            assert!(error.message().contains("a lone surrogate"), "{text}: {error}");
        }
    }
    // An incomplete escape is another error.
    let error = request("POST", "/message:send", r#"{"message":{"messageId":"\ud8"}}"#).unwrap_err();
    assert!(!error.message().contains("surrogate"), "{error}");
    let whole = r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"\ud83d\ude00"}]}}"#;
    assert!(params(Method::SendMessage, whole).is_ok());
}

#[test]
fn the_authentication_scheme_of_a_webhook_is_required() {
    let (alone, in_message) =
        ("authentication.scheme", "configuration.taskPushNotificationConfig.authentication.scheme");
    for authentication in ["{}", r#"{"scheme":""}"#, r#"{"schemes":[]}"#, r#"{"credentials":"c"}"#] {
        let webhook = format!(r#""url":"https://x","authentication":{authentication}"#);
        let set = format!(r#"{{"taskId":"t",{webhook}}}"#);
        let create = Method::CreateTaskPushNotificationConfig;
        assert_eq!(fields(params(create, &set)), [alone]);
        assert_eq!(fields(request("POST", "/tasks/t/pushNotificationConfigs", &set)), [alone]);
        let message = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}"#;
        let send = format!(r#"{{"message":{message},"configuration":{{"taskPushNotificationConfig":{{{webhook}}}}}}}"#);
        assert_eq!(fields(params(Method::SendStreamingMessage, &send)), [in_message]);
        assert_eq!(fields(request("POST", "/message:send", &send)), [in_message]);
    }
    let config = TaskPushNotificationConfig {
        task_id: Some("t".into()),
        url: "https://x".to_owned(),
        authentication: Some(AuthenticationInfo::default()),
        ..Default::default()
    };
    let mut bytes = Vec::new();
    proto::encode_call(&config.clone().into(), &mut bytes);
    assert_eq!(fields(proto::decode_call(Method::CreateTaskPushNotificationConfig, &bytes)), [alone]);
    let bare = TaskPushNotificationConfig { authentication: None, ..config };
    let mut bytes = Vec::new();
    proto::encode_call(&bare.into(), &mut bytes);
    assert!(proto::decode_call(Method::CreateTaskPushNotificationConfig, &bytes).is_ok());
}

#[test]
fn absent_params_are_an_empty_object() {
    assert!(rpc().decode_call(Method::GetExtendedAgentCard, None).is_ok());
    assert!(rpc().decode_call(Method::ListTasks, None).is_ok());
    assert_eq!(fields(rpc().decode_call(Method::GetTask, None)), ["id"]);
}

#[test]
fn the_path_wins_over_the_body() {
    let call = request("POST", "/tasks/t-1/pushNotificationConfigs", r#"{"taskId":"t-2","url":"https://x"}"#).unwrap();
    let Call::CreateTaskPushNotificationConfig(config) = call else { panic!() };
    assert_eq!(config.task_id.unwrap(), "t-1");
    let call = request("POST", "/tasks/t-1:cancel", r#"{"id":"t-2","metadata":{"a":1}}"#).unwrap();
    let Call::CancelTask(cancel) = call else { panic!() };
    assert_eq!((cancel.id.as_str(), cancel.metadata.is_some()), ("t-1", true));
}

#[test]
fn the_tenants_of_path_and_body_must_be_equal() {
    let tenant = |target: &str, body: &str| {
        request("POST", target, body).map(|call| call.tenant().map_or(String::new(), Tenant::to_string))
    };
    let message = r#""message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}"#;
    let body = |tenant: &str| format!(r#"{{"tenant":"{tenant}",{message}}}"#);
    assert_eq!(tenant("/north/message:send", &body("")).unwrap(), "north");
    assert_eq!(tenant("/north/message:send", &body("north")).unwrap(), "north");
    assert_eq!(tenant("/message:send", &body("north")).unwrap(), "north");
    assert_eq!(tenant("/north/message:send", &body("south")).unwrap_err().field_violations()[0].field, "tenant");
    assert_eq!(fields(request("GET", "/north/tasks?tenant=south", "")), ["tenant"]);
    let call = request("GET", "/tasks?tenant=south", "").unwrap();
    assert_eq!(call.tenant().unwrap(), "south");
}

#[test]
fn optional_bodies_can_be_absent() {
    for body in ["", " \n", "{}", r#"{"tenant":""}"#] {
        for target in ["/tasks/t:cancel", "/tasks/t:subscribe"] {
            assert!(request("POST", target, body).is_ok(), "{target} {body:?}");
        }
    }
    let routed = web().route(&Verb::POST, "/tasks/t:cancel").unwrap();
    for content_type in [None, Some("application/json"), Some("text/plain")] {
        assert!(rest::decode_call(web(), &routed, None, content_type, b"").is_ok());
    }
}

#[test]
fn a_body_that_is_not_json_is_a_parse_error_and_another_media_type_is_refused() {
    for body in ["", "{", "nope", "{\"message\":}", "{} {}"] {
        let error = request("POST", "/message:send", body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse, "{body}: {error}");
        let (status, body) = rest::write_error(web(), &error);
        assert_eq!(
            (status.as_u16(), body.starts_with(br#"{"error":{"code":400,"status":"INVALID_ARGUMENT""#)),
            (400, true)
        );
    }
    assert_eq!(fields(request("POST", "/message:send", "[]")), ["body"]);
    assert_eq!(fields(request("POST", "/message:send", r#"{"message":{"parts":7}}"#)), ["message.parts"]);
    let routed = web().route(&Verb::POST, "/message:send").unwrap();
    let kind = |content_type| rest::decode_call(web(), &routed, None, content_type, b"{}").unwrap_err().kind();
    for other in [None, Some(""), Some("text/plain"), Some("text/plain; application/json"), Some("json")] {
        assert_eq!(kind(other), ErrorKind::ContentTypeNotSupported, "{other:?}");
    }
    for json in [Some("application/json; charset=utf-8"), Some("Application/A2A+JSON"), Some("application/ld+json")] {
        assert_eq!(kind(json), ErrorKind::InvalidParams, "{json:?}");
    }
}

#[test]
fn a_query_is_read_in_the_specified_forms() {
    let target = "/tasks?contextId=c%2F1+2&status=TASK_STATE_WORKING&pageSize=20&pageToken=a%3D%3D&historyLength=0\
        &statusTimestampAfter=2026-03-01T00:00:00%2B01:00&includeArtifacts=true&A2A-Version=1.0&key=secret&&x";
    let Call::ListTasks(list) = request("GET", target, "").unwrap() else { panic!() };
    let expected = ListTasksRequest {
        context_id: Some("c/1+2".into()),
        status: TaskState::Working,
        page_size: Some(20),
        page_token: Some("a==".into()),
        history_length: Some(0),
        status_timestamp_after: Some("2026-02-28T23:00:00Z".parse().unwrap()),
        include_artifacts: Some(true),
        ..ListTasksRequest::default()
    };
    assert_eq!(list, expected);
    let Call::GetTask(get) = request("GET", "/tasks/t?history_length=3", "").unwrap() else { panic!() };
    assert_eq!(get, GetTaskRequest { history_length: Some(3), ..GetTaskRequest::new("t") });
}

#[test]
fn a_wrong_query_names_the_parameter() {
    for (query, field) in [
        ("pageSize=many", "pageSize"),
        ("pageSize=101", "pageSize"),
        ("pageSize=", "pageSize"),
        ("status=running", "status"),
        ("historyLength=-1", "historyLength"),
        ("historyLength=1.5", "historyLength"),
        ("includeArtifacts=yes", "includeArtifacts"),
        ("statusTimestampAfter=yesterday", "statusTimestampAfter"),
        ("contextId=%FF", "contextId"),
    ] {
        assert_eq!(fields(request("GET", &format!("/tasks?{query}"), "")), [field], "{query}");
    }
}

#[test]
fn each_call_of_a_client_is_read_by_a_server() {
    let tenant = Some(Tenant::from("a/b ü"));
    let push = nuncio_model::TaskPushNotificationConfig {
        task_id: Some("t/1:x".into()),
        url: "https://hooks.example".into(),
        ..Default::default()
    };
    let calls: Vec<Call> = vec![
        SendMessageRequest::new(Message::user("hi")).into(),
        nuncio_model::op::SendStreamingMessageRequest(SendMessageRequest::new(Message::user("hi"))).into(),
        GetTaskRequest { history_length: Some(0), ..GetTaskRequest::new("t:cancel") }.into(),
        ListTasksRequest {
            context_id: Some("c&d=e+f".into()),
            status: TaskState::InputRequired,
            include_artifacts: Some(false),
            status_timestamp_after: Some("2026-03-01T00:00:00.000001Z".parse().unwrap()),
            page_token: Some("%/?".into()),
            ..Default::default()
        }
        .into(),
        CancelTaskRequest { metadata: Some(Box::default()), ..CancelTaskRequest::new("..") }.into(),
        SubscribeToTaskRequest::new("t:subscribe").into(),
        push.into(),
        nuncio_model::op::GetTaskPushNotificationConfigRequest {
            task_id: "t".into(),
            id: "c/d".into(),
            ..Default::default()
        }
        .into(),
        ListTaskPushNotificationConfigsRequest { task_id: "t".into(), page_size: 5, ..Default::default() }.into(),
        nuncio_model::op::DeleteTaskPushNotificationConfigRequest {
            task_id: "t".into(),
            id: "c".into(),
            ..Default::default()
        }
        .into(),
        nuncio_model::op::GetExtendedAgentCardRequest::default().into(),
    ];
    assert_eq!(calls.len(), Method::ALL.len());
    for mut call in calls {
        for tenant in [None, tenant.clone()] {
            call.set_tenant(tenant);
            let outgoing = web().encode_call(&call).unwrap();
            let body = String::from_utf8(outgoing.body.unwrap_or_default()).unwrap();
            assert_eq!(request(outgoing.method.as_str(), &outgoing.path, &body).unwrap(), call, "{}", outgoing.path);
            let encoded = rpc().encode_call(&call).unwrap();
            assert_eq!(rpc().decode_call(call.method(), Some(&encoded)).unwrap(), call);
        }
    }
}

#[test]
fn a_reply_of_another_operation_is_an_internal_error_and_leaves_the_buffer_unchanged() {
    let task = Reply::Task(std::sync::Arc::new(Task::default()));
    let mut to = b"x".to_vec();
    for method in [Method::ListTasks, Method::DeleteTaskPushNotificationConfig, Method::SubscribeToTask] {
        assert_eq!(rpc().encode_reply(method, &task, &mut to).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(web().encode_reply(method, &task, &mut to).unwrap_err().kind(), ErrorKind::Internal);
    }
    assert_eq!(web().encode_reply(Method::GetTask, &Reply::Deleted, &mut to).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(to, b"x");
    assert_eq!(rpc().decode_reply(Method::SubscribeToTask, b"{}").unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn unreadable_answers_are_invalid_agent_responses() {
    let answer = json!({"status": {"state": "DONE", "timestamp": 7}}).to_string();
    let error = rpc().decode_reply(Method::GetTask, answer.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    let said =
        "the agent's answer cannot be read: status.timestamp: invalid type: integer `7`, expected an RFC 3339 time";
    assert_eq!(error.message(), said);
    assert_eq!(rpc().decode_event(b"{}").unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
    assert_eq!(card::decode(b"<html>").unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
}
