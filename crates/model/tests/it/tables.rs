//! Compares every message with the specification's tables, field by field: presence, name, reading and omission.

use std::{collections::BTreeSet, fmt::Debug};

use nuncio_model::{
    AgentCard, Artifact, AuthenticationInfo, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
    card::{
        APIKeySecurityScheme, AgentCapabilities, AgentCardSignature, AgentExtension, AgentInterface, AgentProvider,
        AgentSkill, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
        HTTPAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
        OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
    },
    json::{Described, FieldInfo},
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageConfiguration,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    sample,
    spec::{Field, Messages},
};

/// Fields that are written even if empty, in contrast to the table: readers require the list.
const ALWAYS_WRITTEN: &[(&str, &str)] = &[("ListTaskPushNotificationConfigsResponse", "configs")];

/// Calls a generic function for every message, with the type, the name, and the model's description of the fields.
macro_rules! for_each_message {
    ($check:ident) => {{
        let messages = Messages::load();
        let mut seen = BTreeSet::new();
        macro_rules! one {
            ($type:ident, $fields:expr) => {
                let name = stringify!($type);
                assert!(messages.messages.contains_key(name), "{name} is no message of the specification");
                seen.insert(name.to_owned());
                $check::<$type>(&messages, name, $fields);
            };
        }
        macro_rules! described {
            ($type:ident) => {
                one!($type, Some(<$type as Described>::FIELDS));
            };
        }
        described!(APIKeySecurityScheme);
        described!(AgentCapabilities);
        described!(AgentCard);
        described!(AgentCardSignature);
        described!(AgentExtension);
        described!(AgentInterface);
        described!(AgentProvider);
        described!(AgentSkill);
        described!(Artifact);
        described!(AuthenticationInfo);
        described!(AuthorizationCodeOAuthFlow);
        described!(CancelTaskRequest);
        described!(ClientCredentialsOAuthFlow);
        described!(DeleteTaskPushNotificationConfigRequest);
        described!(DeviceCodeOAuthFlow);
        described!(GetExtendedAgentCardRequest);
        described!(GetTaskPushNotificationConfigRequest);
        described!(GetTaskRequest);
        described!(HTTPAuthSecurityScheme);
        described!(ImplicitOAuthFlow);
        described!(ListTaskPushNotificationConfigsRequest);
        described!(ListTaskPushNotificationConfigsResponse);
        described!(ListTasksRequest);
        described!(ListTasksResponse);
        described!(Message);
        described!(MutualTlsSecurityScheme);
        described!(OAuth2SecurityScheme);
        described!(OAuthFlows);
        described!(OpenIdConnectSecurityScheme);
        described!(PasswordOAuthFlow);
        described!(SecurityRequirement);
        described!(SecurityScheme);
        described!(SendMessageConfiguration);
        described!(SendMessageRequest);
        described!(StringList);
        described!(SubscribeToTaskRequest);
        described!(Task);
        described!(TaskArtifactUpdateEvent);
        described!(TaskPushNotificationConfig);
        described!(TaskStatus);
        described!(TaskStatusUpdateEvent);
        // Hand-written implementations: a part must be small, and a response is an enum.
        one!(Part, None);
        one!(SendMessageResponse, None);
        one!(StreamResponse, None);
        let all: BTreeSet<_> = messages.messages.keys().cloned().collect();
        assert_eq!(seen, all, "messages of the specification that the model lacks");
    }};
}

trait Json: Serialize + DeserializeOwned + PartialEq + Debug {}
impl<T: Serialize + DeserializeOwned + PartialEq + Debug> Json for T {}

fn read<T: Json>(name: &str, json: &Value) -> T {
    T::deserialize(json.clone()).unwrap_or_else(|error| panic!("{name}: {error} in {json}"))
}

fn write<T: Json>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn the_model_describes_the_fields_of_the_table_in_its_order() {
    fn check<T: Json>(messages: &Messages, name: &str, fields: Option<&[FieldInfo]>) {
        let Some(fields) = fields else { return };
        let ours: Vec<_> = fields.iter().map(|it| (it.name, it.json, it.presence)).collect();
        let theirs: Vec<_> = messages.messages[name]
            .fields
            .iter()
            .map(|it| {
                let always = ALWAYS_WRITTEN.contains(&(name, &it.json_name));
                (&*it.name, &*it.json_name, if always { "required" } else { it.presence(messages) })
            })
            .collect();
        assert_eq!(ours, theirs, "{name}");
    }
    for_each_message!(check);
}

#[test]
fn every_field_is_read_and_written_under_its_name() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        for json in sample::full(messages, name) {
            assert_eq!(write(&read::<T>(name, &json)), json, "{name}");
        }
    }
    for_each_message!(check);
}

#[test]
fn proto_names_are_read_too() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        for json in sample::full(messages, name) {
            let snake = sample::snake(messages, name, &json);
            assert_eq!(read::<T>(name, &snake), read::<T>(name, &json), "{name}: {snake}");
        }
    }
    for_each_message!(check);
}

#[test]
fn unset_fields_are_left_out_and_required_ones_are_not() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        let (fields, base) = base(messages, name);
        let mut expected = base.clone();
        let always = |field: &&Field| field.required || ALWAYS_WRITTEN.contains(&(name, &field.json_name));
        for field in fields.iter().filter(always) {
            expected[&field.json_name] = field.default(messages);
        }
        assert_eq!(write(&read::<T>(name, &base)), expected, "{name}");
    }
    for_each_message!(check);
}

#[test]
fn a_default_that_is_spelled_out_stays_only_where_it_has_presence() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        let (fields, base) = base(messages, name);
        for field in fields.iter().filter(|field| field.oneof.is_none()) {
            if field.kind == "google.protobuf.Timestamp" || ALWAYS_WRITTEN.contains(&(name, &field.json_name)) {
                continue;
            }
            let mut json = base.clone();
            json[&field.json_name] = field.default(messages);
            let written = write(&read::<T>(name, &json));
            let expected = (field.presence(messages) != "implicit").then(|| field.default(messages));
            assert_eq!(written.get(&field.json_name), expected.as_ref(), "{name}.{}", field.json_name);
        }
    }
    for_each_message!(check);
}

#[test]
fn null_is_unset() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        let (fields, base) = base(messages, name);
        let mut json = base.clone();
        for field in fields {
            // The `null` of a `google.protobuf.Value` is a value.
            if field.kind != "google.protobuf.Value" && base.get(&field.json_name).is_none() {
                json[&field.json_name] = Value::Null;
            }
        }
        assert_eq!(read::<T>(name, &json), read::<T>(name, &base), "{name}");
    }
    for_each_message!(check);
}

#[test]
fn unknown_members_are_ignored() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        // Earlier texts allow any member of this message as a scheme.
        if name == "SecurityRequirement" {
            return;
        }
        for json in sample::full(messages, name) {
            let mut more = json.clone();
            more["kind"] = json!({"deep": [1, {"er": null}]});
            more["x-unknown"] = json!(["x"]);
            assert_eq!(read::<T>(name, &more), read::<T>(name, &json), "{name}");
        }
    }
    for_each_message!(check);
}

#[test]
fn a_list_is_no_single_value_and_a_single_value_no_list() {
    fn check<T: Json>(messages: &Messages, name: &str, _: Option<&[FieldInfo]>) {
        for json in sample::full(messages, name) {
            for field in &messages.messages[name].fields {
                // `scheme` accepts a list and keeps the first entry, because earlier texts have a list (section 4.3.2,
                // "AuthenticationInfo").
                let lenient = field.kind == "google.protobuf.Value" || name == "AuthenticationInfo";
                if json.get(&field.json_name).is_none() || lenient {
                    continue;
                }
                let mut wrong = json.clone();
                wrong[&field.json_name] = match &*field.cardinality {
                    "repeated" => json[&field.json_name][0].clone(),
                    _ => json!([json[&field.json_name]]),
                };
                assert!(T::deserialize(wrong.clone()).is_err(), "{name} reads {wrong}");
            }
        }
    }
    for_each_message!(check);
}

/// The fields of a message, and the smallest readable input: an empty object, or the first choice of a `oneof`.
fn base<'a>(messages: &'a Messages, name: &str) -> (&'a [Field], Value) {
    let fields = &*messages.messages[name].fields;
    let mut base = json!({});
    if let Some(choice) = fields.iter().find(|field| field.oneof.is_some()) {
        base[&choice.json_name] = sample::value(messages, choice);
    }
    (fields, base)
}

#[test]
fn enums_have_the_values_of_the_table() {
    let messages = Messages::load();
    let states: Vec<_> = TaskState::ALL.iter().map(|it| (it.as_str().to_owned(), it.number())).collect();
    let roles: Vec<_> = Role::ALL.iter().map(|it| (it.as_str().to_owned(), it.number())).collect();
    assert_eq!(messages.enums["TaskState"], states.into_iter().collect());
    assert_eq!(messages.enums["Role"], roles.into_iter().collect());
    assert_eq!(messages.enums.len(), 2);
    for state in TaskState::ALL {
        for form in [json!(state.as_str()), json!(state.number()), json!(state.short())] {
            assert_eq!(read::<TaskState>("TaskState", &form), *state, "{form}");
        }
    }
    for wrong in [json!("TASK_STATE_DONE"), json!("TASK_STATE_CANCELLED"), json!(9), json!(-1), json!(true), json!([])]
    {
        assert!(serde_json::from_value::<TaskState>(wrong.clone()).is_err(), "{wrong}");
    }
}
