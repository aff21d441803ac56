//! What the model says is said, apart from what 0.3 has no place for; and what is said is protobuf and its JSON, as the
//! oracle reads them.

use nuncio_model::{
    Artifact, Call, Message, Method, Part, PartContent, PushConfigId, Reply, StreamResponse, Task,
    TaskPushNotificationConfig, TaskStatus,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use nuncio_wire::proto;
use proptest::prelude::*;
use prost::Message as _;
use serde_json::Value;

use super::{grpc, grpc_reply, message, over_grpc, over_rest, rest, rest_reply};
use crate::{
    proto::{
        oracle,
        round_trip::{Side, any_call, any_message, any_reply, json_of},
    },
    spec,
};

/// Other tasks that it refers to.
fn lose_message(message: &mut Message) {
    message.reference_task_ids.clear();
    message.parts.iter_mut().for_each(lose_part);
}

/// The name and type of what is no file, and empty metadata beside data that is no object.
fn lose_part(part: &mut Part) {
    let (content, mut metadata, filename, media_type) = std::mem::take(part).into_pieces();
    let is_file = matches!(content, PartContent::Raw(_) | PartContent::Url(_));
    if matches!(&content, PartContent::Data(data) if !data.is_object()) {
        metadata = metadata.filter(|metadata| !metadata.is_empty());
    }
    let mut left = Part::new(content);
    if is_file {
        left = left.with_filename(filename.unwrap_or_default()).with_media_type(media_type.unwrap_or_default());
    }
    *part = metadata.into_iter().fold(left, Part::with_metadata);
}

fn lose_artifact(artifact: &mut Artifact) {
    artifact.parts.iter_mut().for_each(lose_part);
}

fn lose_status(status: &mut TaskStatus) {
    status.message.iter_mut().for_each(lose_message);
}

fn lose_task(task: &mut Task) {
    lose_status(&mut task.status);
    task.artifacts.iter_mut().for_each(lose_artifact);
    task.history.iter_mut().for_each(lose_message);
}

fn lose_event(event: &mut StreamResponse) {
    match event {
        StreamResponse::Task(task) => lose_task(task),
        StreamResponse::Message(message) => lose_message(message),
        StreamResponse::StatusUpdate(update) => lose_status(&mut update.status),
        StreamResponse::ArtifactUpdate(update) => lose_artifact(&mut update.artifact),
    }
}

/// The task of a webhook inside a message, and a configuration that asks for nothing.
fn lose_request(request: &mut SendMessageRequest) {
    lose_message(&mut request.message);
    let Some(configuration) = &mut request.configuration else { return };
    configuration.history_length = configuration.history_length.filter(|length| *length != 0);
    if let Some(config) = &mut configuration.task_push_notification_config {
        config.task_id = None;
        config.tenant = None;
    }
    if **configuration == SendMessageConfiguration::default() {
        request.configuration = None;
    }
}

/// The tenant, always.
fn lose_call(call: &mut Call) {
    call.set_tenant(None);
    match call {
        Call::SendMessage(request) => lose_request(request),
        Call::SendStreamingMessage(request) => lose_request(&mut request.0),
        Call::CancelTask(request) => request.metadata = None,
        Call::CreateTaskPushNotificationConfig(config) if config.id.is_none() => {
            config.id = config.task_id.as_ref().map(|id| PushConfigId::from(id.as_str()));
        }
        _ => {}
    }
}

fn lose_config(config: &mut TaskPushNotificationConfig) {
    config.tenant = None;
}

fn lose_reply(reply: Reply) -> Reply {
    match reply {
        Reply::Task(task) => {
            let mut task = Task::clone(&task);
            lose_task(&mut task);
            Reply::Task(task.into())
        }
        Reply::Message(mut message) => {
            lose_message(&mut message);
            Reply::Message(message)
        }
        Reply::PushConfig(mut config) => {
            lose_config(&mut config);
            Reply::PushConfig(config)
        }
        Reply::PushConfigs(mut page) => {
            page.configs.iter_mut().for_each(lose_config);
            Reply::PushConfigs(page)
        }
        other => other,
    }
}

/// The oracle reads the bytes and the JSON as the same message, and knows all members of the JSON.
fn assert_is_proto(name: &str, bytes: &[u8], json: &Value) {
    let from_bytes = oracle::from_bytes(&message(name), bytes);
    // Over the wire, so that what is spelled out as its default is not set.
    let from_json = oracle::from_bytes(&message(name), &oracle::from_json(&message(name), json).encode_to_vec());
    assert!(from_bytes == from_json, "{name}\n{}\n{json}", oracle::to_json(&from_bytes));
}

fn request_name(method: Method) -> &'static str {
    match method {
        Method::SendMessage | Method::SendStreamingMessage => "SendMessageRequest",
        Method::CancelTask => "CancelTaskRequest",
        Method::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfigRequest",
        _ => "",
    }
}

fn reply_name(method: Method) -> &'static str {
    match method {
        Method::SendMessage => "SendMessageResponse",
        Method::GetTask | Method::CancelTask => "Task",
        Method::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigResponse",
        _ => "TaskPushNotificationConfig",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn calls((method, sent) in any_call()) {
        prop_assume!(method != Method::ListTasks);
        let call = proto::decode_call(method, &sent.bytes).unwrap();
        let mut expected = call.clone();
        lose_call(&mut expected);
        prop_assert_eq!(&over_grpc(&call).unwrap(), &expected);
        prop_assert_eq!(&over_rest(&call).unwrap(), &expected);
        if let Some(body) = rest().encode_call(&call).unwrap().body {
            let mut bytes = Vec::new();
            grpc().encode_call(&call, &mut bytes).unwrap();
            assert_is_proto(request_name(method), &bytes, &spec::json(&body));
        }
    }

    #[test]
    fn replies_and_events((method, sent) in any_reply()) {
        prop_assume!(!matches!(method, Method::ListTasks | Method::GetExtendedAgentCard));
        if method.is_streaming() {
            let event = proto::decode_event(&sent.bytes).unwrap();
            let mut expected = event.clone();
            lose_event(&mut expected);
            let (mut bytes, mut json) = (Vec::new(), Vec::new());
            grpc().encode_event(&event, &mut bytes);
            rest().encode_event(&event, &mut json);
            prop_assert_eq!(&grpc().decode_event(&bytes).unwrap(), &expected);
            prop_assert_eq!(&rest().decode_event(&json).unwrap(), &expected);
            assert_is_proto("StreamResponse", &bytes, &spec::json(&json));
        } else {
            let reply = proto::decode_reply(method, &sent.bytes).unwrap();
            let (bytes, body) = (grpc_reply(method, &reply), rest_reply(method, &reply));
            let expected = json_of(method, &lose_reply(reply));
            prop_assert_eq!(&json_of(method, &grpc().decode_reply(method, &bytes).unwrap()), &expected);
            prop_assert_eq!(&json_of(method, &rest().decode_reply(method, &body).unwrap()), &expected);
            assert_is_proto(reply_name(method), &bytes, &spec::json(&body));
        }
    }

    #[test]
    fn cards(sent in any_card()) {
        let method = Method::GetExtendedAgentCard;
        let reply = proto::decode_reply(method, &sent).unwrap();
        let (bytes, body) = (grpc_reply(method, &reply), rest_reply(method, &reply));
        assert_is_proto("AgentCard", &bytes, &spec::json(&body));
        let read = grpc().decode_reply(method, &bytes).unwrap();
        prop_assert_eq!(json_of(method, &read), json_of(method, &rest().decode_reply(method, &body).unwrap()));
        // What is read once is read again as the same.
        let again = grpc().decode_reply(method, &grpc_reply(method, &read)).unwrap();
        prop_assert_eq!(json_of(method, &again), json_of(method, &read));
    }
}

fn any_card() -> impl Strategy<Value = Vec<u8>> {
    any_message(&oracle::message("AgentCard"), Side::Reply).prop_map(|card| card.encode_to_vec())
}
