//! The table of leniencies: one input for each row, and the table in `docs/versions.md`.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use nuncio_model::{
    AgentCard, Method, Reply, Role, StreamResponse, Task, TaskState,
    card::{SecurityRequirement, SecurityScheme},
    leniency,
};
use nuncio_wire::{Leniency, Version, card, dialect};
use serde_json::{Value, json, value::RawValue};
use tracing_subscriber::{Layer, layer::SubscriberExt as _};

/// The leniencies that a closure reports.
fn used<T>(work: impl FnOnce() -> T) -> (BTreeSet<String>, T) {
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<BTreeSet<String>>>);

    impl<S: tracing::Subscriber> Layer<S> for Seen {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            struct Name(Option<String>);
            impl tracing::field::Visit for Name {
                fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
                    if field.name() == "leniency" {
                        self.0 = Some(value.to_owned());
                    }
                }
                fn record_debug(&mut self, _: &tracing::field::Field, _: &dyn std::fmt::Debug) {}
            }
            let mut name = Name(None);
            event.record(&mut name);
            if event.metadata().target() == leniency::TARGET {
                self.0.lock().unwrap().extend(name.0);
            }
        }
    }

    let seen = Seen::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone());
    let outcome = tracing::subscriber::with_default(subscriber, work);
    let names = seen.0.lock().unwrap().clone();
    (names, outcome)
}

/// The result of a closure that uses this leniency and no other.
fn with<T>(leniency: Leniency, read: impl FnOnce() -> T) -> T {
    let (used, read) = used(read);
    assert_eq!(used.into_iter().collect::<Vec<_>>(), [leniency.name()]);
    read
}

fn rpc_event(version: Version, event: &Value) -> StreamResponse {
    dialect(version).jsonrpc().decode_event(event.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn rpc_task(version: Version, task: &Value) -> Task {
    let reply = dialect(version).jsonrpc().decode_reply(Method::GetTask, task.to_string().as_bytes());
    Task::try_from(reply.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn rest_task(version: Version, task: &Value) -> Task {
    let reply = dialect(version).rest().unwrap().decode_reply(Method::GetTask, task.to_string().as_bytes());
    Task::try_from(reply.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn read_card(mut changes: Value) -> AgentCard {
    let mut card = json!({"name": "a", "description": "b", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": [], "defaultOutputModes": []});
    card.as_object_mut().unwrap().append(changes.as_object_mut().unwrap());
    card::decode(card.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn interface() -> Value {
    json!([{"url": "http://a/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}])
}

#[test]
fn time_without_zone() {
    let time = |task: Task| task.status.timestamp.unwrap().to_string();
    let utc = "2025-08-15T10:11:12.345678Z";
    let task = |state: &str| json!({"id": "t", "status": {"state": state, "timestamp": "2025-08-15T10:11:12.345678"}});
    let kinded = |state: &str| json!({"kind": "task", "id": "t", "status": task(state)["status"]});
    for (version, state) in [(Version::V1_0, "TASK_STATE_WORKING"), (Version::V0_1, "working")] {
        assert_eq!(time(with(Leniency::TimeWithoutZone, || rpc_task(version, &task(state)))), utc);
    }
    assert_eq!(time(with(Leniency::TimeWithoutZone, || rpc_task(Version::V0_3, &kinded("working")))), utc);
    for version in [Version::V1_0, Version::V0_3] {
        assert_eq!(time(with(Leniency::TimeWithoutZone, || rest_task(version, &task("TASK_STATE_WORKING")))), utc);
    }
    // A server reads the same form.
    let params = RawValue::from_string(json!({"statusTimestampAfter": "2025-08-15T10:11:12"}).to_string()).unwrap();
    let read = || dialect(Version::V1_0).jsonrpc().decode_call(Method::ListTasks, Some(&params)).unwrap();
    let nuncio_model::Call::ListTasks(call) = with(Leniency::TimeWithoutZone, read) else { panic!("another call") };
    assert_eq!(call.status_timestamp_after.unwrap().to_string(), "2025-08-15T10:11:12Z");
    let (used, _) = used(|| rpc_task(Version::V1_0, &json!({"id": "t", "status": {"timestamp": utc}})));
    assert!(used.is_empty());
}

#[test]
fn unknown_state() {
    let is_unknown = |task: Task| assert_eq!((task.state(), task.id.as_str()), (TaskState::Unspecified, "t"));
    for state in [json!("TASK_STATE_PONDERING"), json!(99)] {
        let task = json!({"id": "t", "status": {"state": state}});
        let kinded = json!({"kind": "task", "id": "t", "status": {"state": state}});
        is_unknown(with(Leniency::UnknownState, || rpc_task(Version::V1_0, &task)));
        is_unknown(with(Leniency::UnknownState, || rpc_task(Version::V0_3, &kinded)));
        is_unknown(with(Leniency::UnknownState, || rpc_task(Version::V0_1, &task)));
        is_unknown(with(Leniency::UnknownState, || rest_task(Version::V1_0, &task)));
        is_unknown(with(Leniency::UnknownState, || rest_task(Version::V0_3, &task)));
    }
    // Task { id: "t", status: { state: 99 } }, with the field number of the status in each version's proto.
    for (version, field) in [(Version::V1_0, 0x1a), (Version::V0_3, 0x1a)] {
        let bytes = [0x0a, 1, b't', field, 2, 0x08, 99];
        let grpc = dialect(version).grpc().unwrap();
        let reply = with(Leniency::UnknownState, || grpc.decode_reply(Method::GetTask, &bytes).unwrap());
        is_unknown(Task::try_from(reply).unwrap());
    }
    // A caller gets an error.
    let params = RawValue::from_string(json!({"status": "TASK_STATE_PONDERING"}).to_string()).unwrap();
    dialect(Version::V1_0).jsonrpc().decode_call(Method::ListTasks, Some(&params)).unwrap_err();
}

#[test]
fn unknown_role() {
    let event = json!({"message": {"messageId": "m", "role": "ROLE_SYSTEM", "parts": [{"text": "a"}]}});
    let kinded =
        json!({"kind": "message", "messageId": "m", "role": "system", "parts": [{"kind": "text", "text": "a"}]});
    for (version, event) in [(Version::V1_0, event), (Version::V0_3, kinded)] {
        let StreamResponse::Message(message) = with(Leniency::UnknownRole, || rpc_event(version, &event)) else {
            panic!("no message")
        };
        assert_eq!((message.role, message.text().as_str()), (Role::Unspecified, "a"));
    }
}

#[test]
fn enum_form() {
    let task = json!({"id": "t", "status": {"state": "input-required"}});
    let kinded = json!({"kind": "task", "id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}});
    for (version, task) in [(Version::V1_0, task), (Version::V0_3, kinded.clone()), (Version::V0_1, kinded)] {
        assert_eq!(with(Leniency::EnumForm, || rpc_task(version, &task)).state(), TaskState::InputRequired);
    }
}

#[test]
fn capabilities_list() {
    let changes = json!({"supportedInterfaces": interface(), "capabilities": ["streaming", "push-notifications", "x"]});
    let capabilities = with(Leniency::CapabilitiesList, || read_card(changes)).capabilities;
    assert_eq!((capabilities.streaming, capabilities.push_notifications), (Some(true), Some(true)));
    assert_eq!(capabilities.extended_agent_card, None);
}

#[test]
fn flag_as_text() {
    let changes = json!({"supportedInterfaces": interface(), "capabilities": {"streaming": "True", "pushNotifications": "false"}});
    let capabilities = with(Leniency::FlagAsText, || read_card(changes)).capabilities;
    assert_eq!((capabilities.streaming, capabilities.push_notifications), (Some(true), Some(false)));
}

#[test]
fn skill_as_text() {
    let card = with(Leniency::SkillAsText, || read_card(json!({"url": "http://a/", "skills": ["translate"]})));
    assert_eq!((card.skills[0].id.as_str(), card.skills[0].name.as_str()), ("translate", "translate"));
}

#[test]
fn rest_binding() {
    for name in ["REST", "http", "HTTP_JSON", "HTTP JSON"] {
        let older = json!({"url": "http://a/", "protocolVersion": "0.3.0", "preferredTransport": name});
        let newer =
            json!({"supportedInterfaces": [{"url": "http://a/", "protocolBinding": name, "protocolVersion": "1.0"}]});
        for changes in [older, newer] {
            let card = with(Leniency::RestBinding, || read_card(changes));
            assert_eq!(card.supported_interfaces[0].protocol_binding, "HTTP+JSON", "{name}");
        }
    }
    let own = json!({"supportedInterfaces": [{"url": "http://a/", "protocolBinding": "WEBSOCKET", "protocolVersion": "1.0"}]});
    let (used, card) = used(|| read_card(own));
    assert_eq!((used.len(), card.supported_interfaces[0].protocol_binding.as_str()), (0, "WEBSOCKET"));
}

#[test]
fn interface_without_version() {
    let changes = json!({"supportedInterfaces": [{"url": "http://a/", "protocolBinding": "JSONRPC"}]});
    let card = with(Leniency::InterfaceWithoutVersion, || read_card(changes));
    assert_eq!(card.supported_interfaces[0].protocol_version, "");
}

#[test]
fn interface_transport() {
    let changes = json!({"supportedInterfaces": [{"url": "http://a/", "transport": "GRPC", "protocolVersion": "1.0"}]});
    let card = with(Leniency::InterfaceTransport, || read_card(changes));
    assert_eq!(card.supported_interfaces[0].protocol_binding, "GRPC");
}

#[test]
fn card_versions() {
    let bare = json!([{"url": "http://a/", "protocolBinding": "JSONRPC"}]);
    for (name, value) in [("protocolVersions", json!(["1.0"])), ("protocolVersion", json!("1.0"))] {
        let mut changes = json!({ "supportedInterfaces": bare });
        changes[name] = value;
        let card = with(Leniency::CardVersions, || read_card(changes));
        assert_eq!(card.supported_interfaces[0].protocol_version, "1.0");
    }
}

fn http_scheme(leniency: Leniency, scheme: &Value) -> String {
    let changes = json!({"supportedInterfaces": interface(), "securitySchemes": {"a": scheme}});
    match with(leniency, || read_card(changes)).security_schemes.remove("a").unwrap() {
        SecurityScheme::HttpAuth(http) => http.scheme,
        other => panic!("{other:?}"),
    }
}

#[test]
fn http_auth_type() {
    for scheme in [json!({"type": "httpAuth", "scheme": "Bearer"}), json!({"type": "bearer"})] {
        assert!(http_scheme(Leniency::HttpAuthType, &scheme).eq_ignore_ascii_case("bearer"), "{scheme}");
    }
}

#[test]
fn http_without_scheme() {
    for scheme in [json!({"type": "http"}), json!({"httpAuthSecurityScheme": {}})] {
        assert_eq!(http_scheme(Leniency::HttpWithoutScheme, &scheme), "Bearer", "{scheme}");
    }
}

#[test]
fn bare_requirement() {
    let changes = json!({"supportedInterfaces": interface(), "securityRequirements": [{"b": ["read"]}]});
    let card = with(Leniency::BareRequirement, || read_card(changes));
    let [SecurityRequirement { schemes }] = &card.security_requirements[..] else { panic!("{card:?}") };
    assert_eq!(schemes["b"].list, ["read"]);
}

#[test]
fn file_members() {
    let of = |part: &Value, key: &str| {
        let mut message = json!({"kind": "message", "messageId": "m", "role": "agent"});
        message[key] = json!([part]);
        message
    };
    let is_read = |event: StreamResponse| {
        let StreamResponse::Message(message) = event else { panic!("no message") };
        assert_eq!(message.parts[0].media_type(), Some("text/csv"));
    };
    let bytes = json!({"fileWithBytes": "QQ==", "mediaType": "text/csv"});
    let uri = json!({"fileWithUri": "http://a/b", "mediaType": "text/csv"});
    for version in [Version::V0_3, Version::V0_2] {
        for file in [&bytes, &uri] {
            let kinded = of(&json!({"kind": "file", "file": file}), "parts");
            is_read(with(Leniency::FileMembers, || rpc_event(version, &kinded)));
            let mut proto = of(&json!({"file": file}), "content");
            proto["role"] = "ROLE_AGENT".into();
            proto.as_object_mut().unwrap().remove("kind");
            let body = json!({"message": proto, "msg": proto}).to_string();
            let rest = dialect(version).rest().unwrap();
            is_read(with(Leniency::FileMembers, || rest.decode_event(body.as_bytes()).unwrap()));
        }
    }
}

#[test]
fn without_kind() {
    let task = json!({"id": "t", "status": {"state": "working"}});
    let event = with(Leniency::WithoutKind, || rpc_event(Version::V0_3, &task));
    assert!(matches!(event, StreamResponse::Task(_)));
}

#[test]
fn dotted_method() {
    for (name, method) in [
        ("a2a.sendMessage", Method::SendMessage),
        ("ListTaskPushNotificationConfig", Method::ListTaskPushNotificationConfigs),
    ] {
        let read = || dialect(Version::V1_0).jsonrpc().method(name);
        assert_eq!(with(Leniency::DottedMethod, read), Some(method));
    }
}

#[test]
fn dialect_path() {
    let rest = dialect(Version::V1_0).rest().unwrap();
    let routed = with(Leniency::DialectPath, || rest.route(&http::Method::POST, "/messages").unwrap());
    assert_eq!(routed.method, Method::SendMessage);
}

#[test]
fn nested_webhook() {
    let params = json!({"taskId": "t", "config": {"url": "http://a/hook"}}).to_string();
    let params = RawValue::from_string(params).unwrap();
    let read = || dialect(Version::V1_0).jsonrpc().decode_call(Method::CreateTaskPushNotificationConfig, Some(&params));
    let nuncio_model::Call::CreateTaskPushNotificationConfig(config) =
        with(Leniency::NestedWebhook, || read().unwrap())
    else {
        panic!("another call")
    };
    assert_eq!(config.url, "http://a/hook");
}

#[test]
fn bare_event() {
    let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let event = with(Leniency::BareEvent, || rpc_event(Version::V1_0, &task));
    assert!(matches!(event, StreamResponse::Task(_)));
    let rpc = dialect(Version::V1_0).jsonrpc();
    let reply = with(Leniency::BareEvent, || rpc.decode_reply(Method::SendMessage, task.to_string().as_bytes()));
    assert!(matches!(reply.unwrap(), Reply::Task(_)));
}

#[test]
fn inner_marks() {
    let artifact = json!({"artifactId": "a", "parts": [{"text": "b"}], "append": true, "lastChunk": true});
    let event = json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}});
    let StreamResponse::ArtifactUpdate(update) = with(Leniency::InnerMarks, || rpc_event(Version::V1_0, &event)) else {
        panic!("no artifact")
    };
    assert!(update.append && update.last_chunk);
}

#[test]
fn numeric_id() {
    let task = json!({"id": 1, "sessionId": 2, "status": {"state": "working"}});
    let task = with(Leniency::NumericId, || rpc_task(Version::V0_1, &task));
    assert_eq!((task.id.as_str(), task.context_id.unwrap().as_str()), ("1", "2"));
}

#[test]
fn bare_message() {
    let message = json!({"parts": [{"type": "text", "text": "hi"}]});
    for result in [json!({"message": message}), message] {
        let rpc = dialect(Version::V0_1).jsonrpc();
        let read = || rpc.decode_reply(Method::SendMessage, result.to_string().as_bytes()).unwrap();
        let Reply::Message(message) = with(Leniency::BareMessage, read) else { panic!("no message") };
        assert_eq!(message.role, Role::Agent);
        assert_eq!(message.text(), "hi");
    }
}

/// Each row has a test above with its name.
#[test]
fn each_row_has_a_test() {
    let source = include_str!("leniencies.rs");
    for row in Leniency::ALL {
        let test = format!("\nfn {}()", row.name().replace('-', "_"));
        assert!(source.contains(&test), "no test of {}", row.name());
    }
}

#[test]
fn the_documentation_has_the_table() {
    let mut table = String::from("| what a peer sends | in | is read as |\n|---|---|---|\n");
    for row in Leniency::ALL {
        let _ = writeln!(table, "| {} | {} | {} |", row.mistake(), row.versions(), row.reading());
    }
    let document = include_str!("../../../../docs/versions.md");
    assert!(document.contains(&table), "docs/versions.md must have this table:\n\n{table}");
}

#[test]
fn old_name() {
    let send = |version: Version, params: &Value| {
        let params = RawValue::from_string(params.to_string()).unwrap();
        dialect(version).jsonrpc().decode_call(Method::SendMessage, Some(&params)).unwrap()
    };
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}]});
    for configuration in [json!({"blocking": false}), json!({"pushNotificationConfig": {"url": "https://a/"}})] {
        let params = json!({"message": message, "configuration": configuration});
        with(Leniency::OldName, || send(Version::V1_0, &params));
    }
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "a"}]});
    let (used, _) = used(|| send(Version::V0_1, &json!({"id": "t", "session_id": "s", "message": message})));
    assert!(used.is_empty(), "snake_case is not an old name: {used:?}");
    let card = with(Leniency::OldName, || read_card(json!({"provider": {"name": "p", "url": "http://a/"}})));
    assert_eq!(card.provider.unwrap().organization, "p");
}
