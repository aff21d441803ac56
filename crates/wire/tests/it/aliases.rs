//! Forms that are also read as 1.0: the `a2a.*` dialect and texts from before the release.

use std::borrow::Cow;

use http::Method as Verb;
use nuncio_model::{Call, Error, ErrorKind, Method, Role, StreamResponse, TaskState, card::SecurityScheme};
use nuncio_wire::{
    Version, Versions, dialect,
    negotiate::{self, MAX_EXTENSIONS, declared},
    rest::{self, RouteError, Routed},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::spec;

/// A call that a server received: the declared version, the extensions and the decoded call.
struct Taken {
    version: Option<String>,
    extensions: Vec<Box<str>>,
    call: Result<Call, Error>,
}

/// Receives a call as a server that speaks 1.0.
fn take(header: Option<&str>, query: Option<&str>, method: &str, params: &str) -> Taken {
    let params = RawValue::from_string(params.to_owned()).unwrap();
    let inline = negotiate::parameters(method, Some(&params));
    let version = declared(header, query).or(inline.version).map(Cow::into_owned);
    let call = Versions::only([Version::V1_0]).for_method(version.as_deref(), method).and_then(|meant| {
        let operation = meant.dialect.method(method).unwrap();
        meant.dialect.decode_call(operation, inline.params.as_deref().or(Some(&params)))
    });
    Taken { version, extensions: inline.extensions, call }
}

/// A call of 1.0 with this method and params.
fn call(method: &str, params: &Value) -> Call {
    take(Some("1.0"), None, method, &params.to_string())
        .call
        .unwrap_or_else(|error| panic!("{method} {params}: {error}"))
}

#[derive(Deserialize)]
struct Example {
    cases: Vec<Case>,
    rest_paths: Vec<[String; 4]>,
}

#[derive(Deserialize)]
struct Case {
    request: Request,
    as_1_0: Plain,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    params: Value,
}

#[derive(Deserialize)]
struct Plain {
    headers: std::collections::BTreeMap<String, String>,
    request: Request,
}

fn example() -> Example {
    spec::file("examples/dialect-a2a-dot-methods.json")
}

#[test]
fn each_dialect_call_of_the_example_is_read_as_its_1_0_call() {
    let cases = example().cases;
    assert_eq!(cases.len(), 3);
    for Case { request, as_1_0 } in cases {
        let taken = take(None, None, &request.method, &request.params.to_string());
        assert_eq!(taken.version.as_ref(), as_1_0.headers.get("A2A-Version"), "{}", request.method);
        assert_eq!(taken.extensions.join(", "), as_1_0.headers.get("A2A-Extensions").cloned().unwrap_or_default());
        assert_eq!(taken.call.unwrap(), call(&as_1_0.request.method, &as_1_0.request.params), "{}", request.method);
    }
}

#[test]
fn each_dialect_path_of_the_example_is_routed_like_its_1_0_path() {
    let paths = example().rest_paths;
    assert_eq!(paths.len(), 5);
    for [verb, path, plain_verb, plain_path] in paths {
        assert_eq!(route(&verb, &path).unwrap(), route(&plain_verb, &plain_path).unwrap(), "{path}");
    }
}

fn route(verb: &str, path: &str) -> Result<Routed, RouteError> {
    let found = Versions::only([Version::V1_0]).for_path(Some("1.0"), &verb.parse::<Verb>().unwrap(), path);
    found.map(|(_, routed)| routed)
}

#[test]
fn each_operation_has_a_dialect_method() {
    let rpc = dialect(Version::V1_0).jsonrpc();
    for method in Method::ALL {
        let (first, rest) = method.name().split_at(1);
        assert_eq!(rpc.method(&format!("a2a.{}{rest}", first.to_lowercase())), Some(method));
        assert_eq!(rpc.method_name(method), Some(method.name()), "a client never writes the dialect");
    }
    for other in
        ["a2a.", "a2a.x", "a2a.é", "a2a.éendMessage", "a2a.send", "A2A.sendMessage", "sendMessage", "a2a.a2a.getTask"]
    {
        assert_eq!(rpc.method(other), None, "{other}");
    }
}

#[test]
fn each_path_accepts_the_tenant_prefix_of_the_dialect() {
    for (verb, path) in [
        ("POST", "/message:send"),
        ("GET", "/tasks"),
        ("GET", "/tasks/t"),
        ("POST", "/tasks/t:cancel"),
        ("POST", "/tasks/t:subscribe"),
        ("POST", "/tasks/t/pushNotificationConfigs"),
        ("GET", "/tasks/t/pushNotificationConfigs"),
        ("GET", "/tasks/t/pushNotificationConfigs/c"),
        ("DELETE", "/tasks/t/pushNotificationConfigs/c"),
        ("GET", "/extendedAgentCard"),
    ] {
        let plain = route(verb, &format!("/a%2Fb{path}")).unwrap();
        assert_eq!(route(verb, &format!("/tenants/a%2Fb{path}")).unwrap(), plain, "{path}");
        assert_eq!(plain.tenant.unwrap().as_str(), "a/b");
    }
    assert_eq!(route("POST", "/tenants/north/messages:stream").unwrap().method, Method::SendStreamingMessage);
    assert_eq!(route("GET", "/tenants/north/agent-card").unwrap().tenant.unwrap().as_str(), "north");
}

#[test]
fn a_path_of_1_0_wins_over_a_path_of_the_dialect() {
    for (verb, path, method) in [
        ("GET", "/tenants/tasks", Method::ListTasks),
        ("GET", "/tenants/tasks/x", Method::GetTask),
        ("POST", "/tenants/message:send", Method::SendMessage),
        ("GET", "/tenants/extendedAgentCard", Method::GetExtendedAgentCard),
    ] {
        let routed = route(verb, path).unwrap();
        assert_eq!((routed.method, routed.tenant.unwrap().as_str()), (method, "tenants"), "{path}");
    }
    for (verb, path, allow) in [
        ("GET", "/messages", "POST"),
        ("PUT", "/tenants/x/messages:stream", "POST"),
        ("POST", "/agent-card", "GET"),
        ("POST", "/tenants/tasks/messages", "GET"),
        ("POST", "/tenants/x/tasks", "GET"),
    ] {
        assert_eq!(route(verb, path).unwrap_err().allow(), Some(allow), "{verb} {path}");
    }
    for path in [
        "/tenants",
        "/tenants/x",
        "/tenants//messages",
        "/tenants/tenants/x/messages",
        "/x/messages",
        "/messages:fly",
        "/tenants/x/y/tasks",
    ] {
        assert!(matches!(route("POST", path), Err(RouteError::NotFound)), "{path}");
    }
}

#[test]
fn the_version_comes_from_the_header_then_the_query_then_the_params() {
    let version = |header, query, params: &str| take(header, query, "a2a.listTasks", params).version;
    let among = r#"{"a2a-version":"0.9"}"#;
    assert_eq!(version(Some("1.0"), Some("A2A-Version=0.8"), among).as_deref(), Some("1.0"));
    assert_eq!(version(None, Some("A2A-Version=0.8"), among).as_deref(), Some("0.8"));
    assert_eq!(version(None, None, among).as_deref(), Some("0.9"));
    assert_eq!(version(None, None, r#"{"A2A-Version":1.0}"#).as_deref(), Some("1.0"));
    for none in
        [r#"{"a2a-version":""}"#, r#"{"a2a-version":null}"#, r#"{"a2a-version":["1.0"]}"#, r#"["1.0"]"#, "{}", "7"]
    {
        assert_eq!(version(None, None, none), None, "{none}");
    }
}

#[test]
fn a_dialect_call_without_a_version_is_refused_unless_the_server_is_lenient() {
    let refusal = take(None, None, "a2a.getTask", r#"{"id":"t"}"#).call.unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::VersionNotSupported);
    let wrong = take(None, None, "a2a.getTask", r#"{"id":"t","a2a-version":"99.0"}"#).call.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::VersionNotSupported);
    assert!(Versions::default().with_lenient(true).for_method(None, "a2a.getTask").is_ok());
    assert!(Versions::default().for_path(None, &Verb::POST, "/messages").is_err());
    let unknown = Versions::default().for_method(Some("1.0"), "a2a.flyAway").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::MethodNotFound);
}

#[test]
fn params_of_other_methods_are_not_parsed() {
    let params = RawValue::from_string(r#"{"a2a-version":"1.0","a2a-extensions":"urn:a"}"#.to_owned()).unwrap();
    for method in ["SendMessage", "message/send", "tasks/get", "a2a/getTask"] {
        let inline = negotiate::parameters(method, Some(&params));
        assert!(inline.version.is_none() && inline.extensions.is_empty() && inline.params.is_none(), "{method}");
    }
}

#[test]
fn hostile_params_are_bounded() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let many = (0..1000).map(|number| format!("urn:{number}")).collect::<Vec<_>>().join(",");
    let params =
        format!(r#"{{"x":{deep},"a2a-version":"{}","a2a-extensions":"{many}","status":{deep}}}"#, "é".repeat(10_000));
    let taken = take(None, None, "a2a.listTasks", &params);
    assert!(taken.version.unwrap().len() <= 32);
    assert_eq!(taken.extensions.len(), MAX_EXTENSIONS);
    assert_eq!(taken.call.unwrap_err().kind(), ErrorKind::VersionNotSupported);
    let nested = format!(r#"{{"a2a-version":{deep},"a2a-extensions":{deep},"push_notification_config":{deep}}}"#);
    let taken = take(Some("1.0"), None, "a2a.createTaskPushNotificationConfig", &nested);
    assert_eq!(taken.call.unwrap_err().kind(), ErrorKind::InvalidParams);
    assert!(taken.extensions.is_empty());
    let long =
        format!(r#"{{"a2a-extensions":["urn:a"{}],"status":"working","a2a-version":"1.0"}}"#, ",1".repeat(100_000));
    let taken = take(None, None, "a2a.listTasks", &long);
    assert!(taken.extensions.is_empty());
    assert_eq!(taken.call.unwrap_err().field_violations()[0].field, "status");
}

#[test]
fn extensions_are_separated_by_commas_or_in_a_list() {
    for list in [r#""urn:a, urn:b,,urn:a""#, r#"["urn:a","urn:b"]"#] {
        let taken = take(None, None, "a2a.listTasks", &format!(r#"{{"a2a-extensions":{list}}}"#));
        assert_eq!(taken.extensions.join(" "), "urn:a urn:b", "{list}");
    }
}

#[test]
fn snake_case_members_and_short_names_are_read() {
    let send = call(
        "a2a.sendMessage",
        &json!({
            "message": {"message_id": "m", "task_id": "t", "context_id": "c", "role": "user", "parts": [{"text": "x", "media_type": "text/plain"}],
                "reference_task_ids": ["r"]},
            "configuration": {"accepted_output_modes": ["text/plain"], "history_length": 2, "return_immediately": true,
                "push_notification_config": {"url": "https://x.example", "authentication": {"scheme": "bearer"}}},
        }),
    );
    let plain = call(
        "SendMessage",
        &json!({
            "message": {"messageId": "m", "taskId": "t", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": "x", "mediaType": "text/plain"}],
                "referenceTaskIds": ["r"]},
            "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 2, "returnImmediately": true,
                "taskPushNotificationConfig": {"url": "https://x.example", "authentication": {"scheme": "bearer"}}},
        }),
    );
    assert_eq!(send, plain);
    for state in TaskState::ALL.iter().skip(1) {
        let status = json!({"statusUpdate": {"task_id": "t", "context_id": "c", "status": {"state": state.short()}}});
        let StreamResponse::StatusUpdate(event) = event(&status) else { panic!("{status}") };
        assert_eq!(event.status.state, *state);
    }
    let StreamResponse::Message(message) =
        event(&json!({"message": {"message_id": "m", "role": "agent", "parts": []}}))
    else {
        panic!()
    };
    assert_eq!(message.role, Role::Agent);
}

#[test]
fn only_the_dialect_accepts_short_states_in_a_filter() {
    let list = json!({"status": "input-required", "page_size": 3, "last_updated_after": "2026-01-01T00:00:00Z"});
    let plain =
        json!({"status": "TASK_STATE_INPUT_REQUIRED", "pageSize": 3, "statusTimestampAfter": "2026-01-01T00:00:00Z"});
    assert_eq!(call("a2a.listTasks", &list), call("ListTasks", &plain));
    assert_eq!(call("a2a.listTasks", &plain), call("ListTasks", &plain));
    for (method, status) in [("ListTasks", "working"), ("a2a.listTasks", "running")] {
        let refusal = take(Some("1.0"), None, method, &json!({"status": status}).to_string()).call.unwrap_err();
        assert_eq!(refusal.field_violations()[0].field, "status", "{method}");
    }
}

#[test]
fn a_webhook_can_be_nested_one_level_deeper() {
    let plain = call(
        "CreateTaskPushNotificationConfig",
        &json!({"taskId": "t", "id": "c", "tenant": "n", "url": "https://x.example", "token": "s"}),
    );
    let webhook = json!({"url": "https://x.example", "token": "s"});
    for wrapped in [
        json!({"task_id": "t", "id": "c", "tenant": "n", "push_notification_config": webhook}),
        json!({"taskId": "t", "tenant": "n", "pushNotificationConfig": {"id": "c", "url": "https://x.example", "token": "s"}}),
        json!({"taskId": "t", "configId": "c", "tenant": "n", "config": {"pushNotificationConfig": webhook, "taskId": "other"}}),
        json!({"task_id": "t", "config_id": "c", "config": {"url": "https://x.example", "token": "s", "tenant": "n"}}),
    ] {
        assert_eq!(call("a2a.createTaskPushNotificationConfig", &wrapped), plain, "{wrapped}");
        let web = dialect(Version::V1_0).rest().unwrap();
        let routed = route("POST", "/n/tasks/t/pushNotificationConfigs").unwrap();
        let body = wrapped.to_string();
        assert_eq!(
            rest::decode_call(web, &routed, None, Some(rest::CONTENT_TYPE), body.as_bytes()).unwrap(),
            plain,
            "{wrapped}"
        );
    }
    for none in [
        json!({"taskId": "t"}),
        json!({"taskId": "t", "config": {"config": {"config": webhook}}}),
        json!({"taskId": "t", "config": {}}),
    ] {
        let refusal = take(Some("1.0"), None, "CreateTaskPushNotificationConfig", &none.to_string()).call.unwrap_err();
        assert_eq!(refusal.field_violations()[0].field, "url", "{none}");
    }
}

#[test]
fn forms_of_1_0_drafts_are_read() {
    let immediate = |configuration: Value| {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
        match call("SendMessage", &json!({"message": message, "configuration": configuration})) {
            Call::SendMessage(request) => request.returns_immediately(),
            other => panic!("{other:?}"),
        }
    };
    assert!(immediate(json!({"blocking": false})));
    assert!(!immediate(json!({"blocking": true})));
    assert!(!immediate(json!({"blocking": null})));
    let singular = call("ListTaskPushNotificationConfig", &json!({"taskId": "t"}));
    assert_eq!(singular.method(), Method::ListTaskPushNotificationConfigs);

    let web = dialect(Version::V1_0).rest().unwrap();
    let routed = route("GET", "/tasks").unwrap();
    let list = rest::decode_call(web, &routed, Some("last_updated_after=2026-01-01T00:00:00Z"), None, b"").unwrap();
    assert!(matches!(list, Call::ListTasks(request) if request.status_timestamp_after.is_some()));

    for (kind, name) in [
        (ErrorKind::TaskNotFound, "task-not-found"),
        (ErrorKind::TaskNotCancelable, "task-not-cancelable"),
        (ErrorKind::VersionNotSupported, "version-not-supported"),
        (ErrorKind::ContentTypeNotSupported, "content-type-not-supported"),
    ] {
        let problem = json!({"type": format!("https://a2a-protocol.org/errors/{name}"), "title": "t", "status": 400, "detail": "why"});
        let error = rest::parse_error(http::StatusCode::BAD_REQUEST, problem.to_string().as_bytes());
        assert_eq!((error.kind(), error.message()), (kind, "why"));
    }
}

/// Reads an event in both JSON bindings.
fn event(json: &Value) -> StreamResponse {
    let text = json.to_string();
    let dialect = dialect(Version::V1_0);
    let read = dialect.jsonrpc().decode_event(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(dialect.rest().unwrap().decode_event(text.as_bytes()).unwrap(), read);
    read
}

#[test]
fn a_webhook_of_the_dialect_gets_bare_events() {
    let status = json!({"task_id": "t", "context_id": "c", "status": {"state": "completed"}});
    assert_eq!(event(&status), event(&json!({"statusUpdate": status})));
    let artifact = json!({"task_id": "t", "context_id": "c", "artifact": {"artifact_id": "a", "parts": [{"text": "x"}], "append": true, "last_chunk": true}});
    assert_eq!(event(&artifact), event(&json!({"artifactUpdate": artifact})));
    let task = json!({"id": "t", "context_id": "c", "status": {"state": "working"}});
    assert_eq!(event(&task), event(&json!({"task": task})));
    let message = json!({"message_id": "m", "role": "agent", "parts": [{"text": "x"}]});
    assert_eq!(event(&message), event(&json!({"message": message})));
    for none in [
        json!({}),
        json!({"error": {"code": -32001, "message": "x"}}),
        json!({"id": 1, "status": "NOT_FOUND"}),
        json!({"status": {"state": "working"}}),
    ] {
        assert!(dialect(Version::V1_0).rest().unwrap().decode_event(none.to_string().as_bytes()).is_err(), "{none}");
    }
}

#[test]
fn chunk_flags_inside_the_artifact_are_read() {
    let piece = |outer: Value, inner: Value| {
        let mut artifact = json!({"artifactId": "a", "parts": [{"text": "say \"append\" and \"lastChunk\""}]});
        artifact.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
        let mut update = json!({"taskId": "t", "contextId": "c", "artifact": artifact});
        update.as_object_mut().unwrap().extend(outer.as_object().unwrap().clone());
        match event(&json!({"artifactUpdate": update})) {
            StreamResponse::ArtifactUpdate(event) => (event.append, event.last_chunk),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(piece(json!({}), json!({"append": true, "last_chunk": true})), (true, true));
    assert_eq!(piece(json!({}), json!({"lastChunk": true})), (false, true));
    assert_eq!(piece(json!({"append": true}), json!({})), (true, false));
    assert_eq!(piece(json!({}), json!({})), (false, false));
    assert_eq!(piece(json!({"append": false}), json!({"append": null, "lastChunk": "x"})), (false, false));
}

#[test]
fn an_artifact_can_list_extension_objects() {
    let event = event(&json!({"artifactUpdate": {"taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [], "extensions": [{"uri": "urn:a", "required": true}, "urn:b"]}}}));
    let StreamResponse::ArtifactUpdate(event) = event else { panic!("{event:?}") };
    assert_eq!(event.artifact.extensions.join(" "), "urn:a urn:b");
}

#[test]
fn a_card_of_the_dialect_is_read() {
    let card = json!({
        "name": "a", "provider": {"name": "p"}, "supportsExtendedAgentCard": true, "protocolVersions": ["1.0"],
        "supported_interfaces": [{"url": "https://a.example", "protocol_binding": "http+json"}],
        "security_schemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "security_requirements": [{"bearer": []}],
    });
    let card = nuncio_wire::card::decode(card.to_string().as_bytes()).unwrap();
    let [interface] = &card.supported_interfaces[..] else { panic!("{card:?}") };
    assert_eq!((&*interface.protocol_version, &*interface.protocol_binding), ("1.0", "http+json"));
    assert!(matches!(&card.security_schemes["bearer"], SecurityScheme::HttpAuth(http) if http.scheme == "bearer"));
    assert!(card.security_requirements[0].schemes.contains_key("bearer") && card.capabilities.extends_card());
    assert_eq!(card.provider.unwrap().organization, "p");
}
