//! The input that ProtoJSON and the earlier texts of the specification allow.

use nuncio_model::{
    AgentCard, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig,
    TaskState, TaskStatus,
    card::SecurityRequirement,
    op::{ListTasksRequest, SendMessageConfiguration, SendMessageResponse},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::spec;

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
    invalid: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    message: String,
    input: Value,
    #[serde(default)]
    canonical: Value,
}

/// Reads a message and writes it again.
fn canonical(message: &str, input: &Value) -> Result<Value, serde_json::Error> {
    fn again<T: DeserializeOwned + Serialize>(input: &Value) -> Result<Value, serde_json::Error> {
        let text = input.to_string();
        serde_json::to_value(serde_json::from_str::<T>(&text)?)
    }
    match message {
        "Message" => again::<Message>(input),
        "Part" => again::<Part>(input),
        "ListTasksRequest" => again::<ListTasksRequest>(input),
        "TaskStatus" => again::<TaskStatus>(input),
        "SendMessageConfiguration" => again::<SendMessageConfiguration>(input),
        "TaskArtifactUpdateEvent" => again::<TaskArtifactUpdateEvent>(input),
        other => panic!("a case for {other} is new"),
    }
}

#[test]
fn the_cases_of_the_specification_hold() {
    let Cases { cases, invalid } = spec::file("examples/v10-protojson-input.json");
    assert!(!cases.is_empty() && !invalid.is_empty());
    for Case { message, input, canonical: expected } in cases {
        assert_eq!(canonical(&message, &input).unwrap(), expected, "{message} {input}");
    }
    for Case { message, input, .. } in invalid {
        assert!(canonical(&message, &input).is_err(), "{message} reads {input}");
    }
}

#[test]
fn cards_are_written_in_the_form_for_signatures() {
    #[derive(Deserialize)]
    struct Signing {
        canonicalization: Vec<Vector>,
    }
    #[derive(Deserialize)]
    struct Vector {
        name: String,
        input: Value,
        canonical: String,
    }
    let signing: Signing = spec::file("examples/v10-card-signing.json");
    for Vector { name, mut input, canonical } in signing.canonicalization {
        input.as_object_mut().unwrap().remove("signatures");
        let card: AgentCard = serde_json::from_value(input).unwrap();
        let expected: Value = serde_json::from_str(&canonical).unwrap();
        assert_eq!(serde_json::to_value(card).unwrap(), expected, "{name}");
    }
}

fn read<T: DeserializeOwned>(json: &Value) -> T {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error} in {json}"))
}

#[test]
fn roles_and_states_have_short_forms() {
    assert_eq!(read::<Role>(&json!("user")), Role::User);
    assert_eq!(read::<Role>(&json!("agent")), Role::Agent);
    for form in ["input-required", "input_required", "INPUT_REQUIRED", "task_state_input_required"] {
        assert_eq!(read::<TaskState>(&json!(form)), TaskState::InputRequired, "{form}");
    }
}

#[test]
fn earlier_names_are_read() {
    let config: SendMessageConfiguration = read(
        &json!({"pushNotificationConfig": {"url": "https://x", "authentication": {"schemes": ["Bearer", "Basic"]}}}),
    );
    let push = config.task_push_notification_config.unwrap();
    assert_eq!(push.authentication.unwrap().scheme, "Bearer");
    let list: ListTasksRequest = read(&json!({"lastUpdatedAfter": "2026-01-01T00:00:00Z"}));
    assert!(list.status_timestamp_after.is_some());
    let card: AgentCard = read(&json!({"security": [{"google": ["openid"]}], "provider": {"name": "N"}}));
    assert_eq!(card.security_requirements[0].schemes["google"].list, ["openid"]);
    assert_eq!(card.provider.unwrap().organization, "N");
    let requirement: SecurityRequirement = read(&json!({"schemes": {"a": {"list": ["r"]}, "b": {}}}));
    assert_eq!(requirement.schemes.len(), 2);
}

#[test]
fn empty_members_of_a_webhook_are_unset() {
    let config: TaskPushNotificationConfig = read(&json!({"url": "https://x", "id": "", "token": "", "taskId": ""}));
    assert_eq!(config, TaskPushNotificationConfig { url: "https://x".into(), ..Default::default() });
}

#[test]
fn null_survives_inside_metadata_and_data() {
    let json = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": [null]}], "metadata": {"a": null}});
    assert_eq!(serde_json::to_value(read::<Message>(&json)).unwrap(), json);
}

#[test]
fn text_is_kept_to_the_byte() {
    let text = "<b>&amp; é \u{2028} \u{1F600} \n\t\" \\ \u{0}";
    let part: Part = read(&json!({"text": text}));
    assert_eq!(part.as_text(), Some(text));
    let written = serde_json::to_string(&part).unwrap();
    assert!(written.contains("<b>&amp; é \u{2028} \u{1F600}"), "{written}");
    assert_eq!(serde_json::from_str::<Part>(&written).unwrap(), part);
}

#[test]
fn one_member_of_a_response_is_set() {
    for wrong in
        [json!({}), json!({"task": null}), json!({"task": {}, "message": {}}), json!({"kind": "task"}), json!([])]
    {
        assert!(serde_json::from_value::<StreamResponse>(wrong.clone()).is_err(), "{wrong}");
        assert!(serde_json::from_value::<SendMessageResponse>(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(matches!(read(&json!({"task": {"id": "t"}, "message": null})), StreamResponse::Task(_)));
    assert!(matches!(read(&json!({"task": {"id": "t"}, "message": null})), SendMessageResponse::Task(_)));
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [200, 20_000] {
        let nested = deep(levels);
        assert!(serde_json::from_str::<Part>(&format!(r#"{{"data":{nested}}}"#)).is_err());
        assert!(serde_json::from_str::<Task>(&format!(r#"{{"id":"t","metadata":{{"a":{nested}}}}}"#)).is_err());
        assert!(serde_json::from_str::<AgentCard>(&format!(r#"{{"security":[{{"a":{nested}}}]}}"#)).is_err());
        // Unread members do not matter.
        assert!(serde_json::from_str::<Task>(&format!(r#"{{"id":"t","x":{nested}}}"#)).is_ok());
    }
    assert!(serde_json::from_str::<Part>(&format!(r#"{{"data":{}}}"#, deep(100))).is_ok());
}
