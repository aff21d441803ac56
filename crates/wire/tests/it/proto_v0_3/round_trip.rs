//! Round trips of the model through 0.3 lose only facts that 0.3 cannot carry. The oracle accepts the written protobuf
//! and JSON.

use std::sync::Arc;

use nuncio_model::{
    AgentCard, Call, Message, Method, PushConfigId, Reply, StreamResponse, Task, TaskPushNotificationConfig,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use nuncio_wire::{Version, card, proto};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::Value;

use super::{grpc, grpc_reply, message, over_grpc, over_rest, rest, rest_reply};
use crate::{
    losses::{About, Ledger, Way, any_event, artifacts, hold, messages},
    proto::{
        oracle,
        round_trip::{Side, any_call, any_message, any_reply, json_of},
    },
    spec,
};

fn of_message(ledger: &Ledger, message: &mut Message) {
    ledger.lose("Message.referenceTaskIds", &mut message.reference_task_ids, Vec::new());
    message.parts.iter_mut().for_each(|part| ledger.of_part(part));
}

fn of_event(ledger: &Ledger, event: &mut StreamResponse) {
    for message in messages(event) {
        of_message(ledger, message);
    }
    for artifact in artifacts(event) {
        artifact.parts.for_each_mut(|part| ledger.of_part(part));
    }
}

fn of_send(ledger: &Ledger, request: &mut SendMessageRequest) {
    of_message(ledger, &mut request.message);
    let Some(configuration) = &mut request.configuration else { return };
    let length = configuration.history_length.filter(|length| *length != 0);
    ledger.lose("SendMessageConfiguration.historyLength", &mut configuration.history_length, length);
    if let Some(config) = &mut configuration.task_push_notification_config {
        ledger.lose("TaskPushNotificationConfig.taskId", &mut config.task_id, None);
        of_config(ledger, config);
    }
    // A configuration with only defaults counts as absent.
    request.configuration.take_if(|it| **it == SendMessageConfiguration::default());
}

fn of_call(ledger: &Ledger, call: &mut Call) {
    ledger.of_tenant(call);
    match call {
        Call::SendMessage(request) => of_send(ledger, request),
        Call::SendStreamingMessage(request) => of_send(ledger, &mut request.0),
        Call::CancelTask(request) => ledger.lose("CancelTaskRequest.metadata", &mut request.metadata, None),
        Call::CreateTaskPushNotificationConfig(config) if config.id.is_none() => {
            let id = config.task_id.as_ref().map(|id| PushConfigId::from(id.as_str()));
            ledger.lose("TaskPushNotificationConfig.id", &mut config.id, id);
        }
        _ => {}
    }
}

fn of_config(ledger: &Ledger, config: &mut TaskPushNotificationConfig) {
    ledger.lose("*.tenant", &mut config.tenant, None);
}

fn of_reply(ledger: &Ledger, reply: Reply) -> Reply {
    match reply {
        Reply::Task(task) => {
            let mut event = StreamResponse::Task(Task::clone(&task));
            of_event(ledger, &mut event);
            match event {
                StreamResponse::Task(task) => Reply::Task(task.into()),
                _ => unreachable!("it was a task"),
            }
        }
        Reply::Message(mut message) => {
            of_message(ledger, &mut message);
            Reply::Message(message)
        }
        Reply::PushConfig(mut config) => {
            of_config(ledger, &mut config);
            Reply::PushConfig(config)
        }
        Reply::PushConfigs(mut page) => {
            page.configs.iter_mut().for_each(|config| of_config(ledger, config));
            Reply::PushConfigs(page)
        }
        other => other,
    }
}

/// The oracle reads the bytes and the JSON as the same message, and knows all members of the JSON.
fn assert_is_proto(name: &str, bytes: &[u8], json: &Value) {
    let from_bytes = oracle::from_bytes(&message(name), bytes);
    // Decodes the bytes again, so that explicit defaults become unset.
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

#[test]
fn calls() {
    let values = any_call().prop_filter("0.3 has no list of tasks", |(method, _)| *method != Method::ListTasks);
    hold((Way::Proto, About::Calls), 256, &values, |ledger, (method, sent)| {
        let call = proto::decode_call(method, &sent.bytes).unwrap();
        let mut expected = call.clone();
        of_call(ledger, &mut expected);
        prop_assert_eq!(&over_grpc(&call).unwrap(), &expected);
        prop_assert_eq!(&over_rest(&call).unwrap(), &expected);
        if let Some(body) = rest().encode_call(&call).unwrap().body {
            let mut bytes = Vec::new();
            grpc().encode_call(&call, &mut bytes).unwrap();
            assert_is_proto(request_name(method), &bytes, &spec::json(&body));
        }
        Ok(())
    });
}

#[test]
fn events() {
    hold((Way::Proto, About::Events), 256, &any_event(), |ledger, event| {
        let mut expected = event.clone();
        of_event(ledger, &mut expected);
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        grpc().encode_event(&event, &mut bytes);
        rest().encode_event(&event, &mut json);
        prop_assert_eq!(&grpc().decode_event(&bytes).unwrap(), &expected);
        prop_assert_eq!(&rest().decode_event(&json).unwrap(), &expected);
        assert_is_proto("StreamResponse", &bytes, &spec::json(&json));
        Ok(())
    });
}

#[test]
fn replies() {
    let values = any_reply().prop_filter("has tests of its own", |(method, _)| {
        !method.is_streaming() && !matches!(method, Method::ListTasks | Method::GetExtendedAgentCard)
    });
    hold((Way::Proto, About::Events), 256, &values, |ledger, (method, sent)| {
        let reply = proto::decode_reply(method, &sent.bytes).unwrap();
        let (bytes, body) = (grpc_reply(method, &reply), rest_reply(method, &reply));
        let expected = json_of(method, &of_reply(ledger, reply));
        prop_assert_eq!(&json_of(method, &grpc().decode_reply(method, &bytes).unwrap()), &expected);
        prop_assert_eq!(&json_of(method, &rest().decode_reply(method, &body).unwrap()), &expected);
        assert_is_proto(reply_name(method), &bytes, &spec::json(&body));
        Ok(())
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn cards(sent in any_card()) {
        let method = Method::GetExtendedAgentCard;
        let reply = proto::decode_reply(method, &sent).unwrap();
        let (bytes, body) = (grpc_reply(method, &reply), rest_reply(method, &reply));
        let read = grpc().decode_reply(method, &bytes).unwrap();
        // Over HTTP+JSON, the card is the JSON-RPC card plus the other form of its schemes, which carries a little
        // more.
        let of_rest = rest().decode_reply(method, &body).unwrap();
        let (Reply::Card(card), Reply::Card(of_rest)) = (&reply, of_rest) else { unreachable!("cards are cards") };
        let of_jsonrpc = card::decode(&card::encode_for(card, Version::V0_3)).unwrap();
        let security_schemes = of_jsonrpc.security_schemes.clone();
        prop_assert_eq!(of_jsonrpc, AgentCard { security_schemes, ..Arc::unwrap_or_clone(of_rest) });
        // A second round trip changes nothing.
        let again = grpc().decode_reply(method, &grpc_reply(method, &read)).unwrap();
        prop_assert_eq!(json_of(method, &again), json_of(method, &read));
    }
}

fn any_card() -> impl Strategy<Value = Vec<u8>> {
    any_message(&oracle::message("AgentCard"), Side::Reply).prop_map(|card| card.encode_to_vec())
}
