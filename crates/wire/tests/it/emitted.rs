//! Validates complete documents against the types of their own version: each answer in its envelope, each event, error
//! and webhook. Other tests validate cards, requests and HTTP+JSON.

use std::time::Duration;

use nuncio_model::{Error, Method, Reply, StreamResponse};
use nuncio_wire::{Dialect, Version, dialect, jsonrpc, proto, status};
use proptest::prelude::*;
use serde_json::Value;

use crate::{losses::any_event, proto::round_trip::any_reply, spec, v0_1::schema as oldest, v0_3::schema as kinded};

const OLDER: [Version; 3] = [Version::V0_3, Version::V0_2, Version::V0_1];

/// The type in 0.3 of the answer to a method.
fn answer_of_0_3(method: Method) -> &'static str {
    match method {
        Method::SendMessage => "SendMessageSuccessResponse",
        Method::SendStreamingMessage | Method::SubscribeToTask => "SendStreamingMessageSuccessResponse",
        Method::GetTask => "GetTaskSuccessResponse",
        Method::CancelTask => "CancelTaskSuccessResponse",
        Method::CreateTaskPushNotificationConfig => "SetTaskPushNotificationConfigSuccessResponse",
        Method::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfigSuccessResponse",
        Method::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigSuccessResponse",
        Method::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfigSuccessResponse",
        Method::GetExtendedAgentCard => "GetAuthenticatedExtendedCardSuccessResponse",
        Method::ListTasks => panic!("0.3 has no list of tasks"),
    }
}

/// The type in 0.1 of the result of a method.
fn result_of_0_1(method: Method, result: &Value) -> &'static str {
    match method {
        Method::SendStreamingMessage | Method::SubscribeToTask if result["artifact"].is_object() => {
            "TaskArtifactUpdateEvent"
        }
        Method::SendStreamingMessage | Method::SubscribeToTask => "TaskStatusUpdateEvent",
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            "TaskPushNotificationConfig"
        }
        _ => "Task",
    }
}

/// Validates the answer to a call, or one of its events, against the types of the version.
fn assert_is_answer(version: Version, method: Method, document: &Value) {
    if version == Version::V0_1 {
        oldest::assert_is(document, "JSONRPCResponse");
        oldest::assert_is(&document["result"], result_of_0_1(method, &document["result"]));
    } else {
        kinded::assert_is(document, answer_of_0_3(method));
    }
}

fn assert_is_error(version: Version, document: &Value) {
    if version == Version::V0_1 {
        oldest::assert_is(document, "JSONRPCResponse");
        oldest::assert_is(&document["error"], "JSONRPCError");
    } else {
        kinded::assert_is(document, "JSONRPCErrorResponse");
    }
}

fn in_envelope(result: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> Value {
    let mut to = Vec::new();
    jsonrpc::write_result(&7.into(), &mut to, result).unwrap();
    spec::json(&to)
}

/// The answer of an older version, if the version has this answer. In 0.1 a plan converts a direct answer to a task.
fn answered(older: &dyn Dialect, method: Method, reply: &Reply) -> Option<Value> {
    let is_direct = matches!(reply, Reply::Message(_)) && older.version() == Version::V0_1;
    older.jsonrpc().method_name(method).filter(|_| !is_direct)?;
    Some(in_envelope(|to| older.jsonrpc().encode_reply(method, reply, to)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn answers((method, sent) in any_reply()) {
        // A security scheme of a card can be absent from 0.3.
        if method.is_streaming() || method == Method::GetExtendedAgentCard {
            return Ok(());
        }
        let reply = proto::decode_reply(method, &sent.bytes).unwrap();
        for version in OLDER {
            if let Some(document) = answered(dialect(version), method, &reply) {
                assert_is_answer(version, method, &document);
            }
        }
    }

    #[test]
    fn events(event in any_event()) {
        for version in OLDER {
            let document = in_envelope(|to| { dialect(version).jsonrpc().encode_event(&event, to); Ok(()) });
            assert_is_answer(version, Method::SendStreamingMessage, &document);
        }
    }

    #[test]
    fn webhooks(event in any_event()) {
        // A webhook gets the whole task.
        if !matches!(event, StreamResponse::Task(_)) {
            return Ok(());
        }
        for version in OLDER {
            let mut to = Vec::new();
            dialect(version).encode_notice(&event, &mut to);
            let task = spec::json(&to);
            if version == Version::V0_1 { oldest::assert_is(&task, "Task") } else { kinded::assert_is(&task, "Task") }
        }
    }
}

#[test]
fn deletions() {
    for version in [Version::V0_3, Version::V0_2] {
        let method = Method::DeleteTaskPushNotificationConfig;
        let document = answered(dialect(version), method, &Reply::Deleted).unwrap();
        assert_is_answer(version, method, &document);
    }
}

#[test]
fn errors() {
    for row in status::TABLE {
        let bare = Error::new(row.kind, "why");
        let told = bare.clone().with_metadata("taskId", "t").with_retry_after(Duration::from_secs(3));
        for error in [bare, told, Error::invalid_params("message.role", "is required")] {
            for version in OLDER {
                for id in [jsonrpc::Id::NULL, 7.into()] {
                    let mut to = Vec::new();
                    jsonrpc::write_error(dialect(version).jsonrpc(), &id, &error, &mut to);
                    let mut document = spec::json(&to);
                    if version == Version::V0_1 && id == jsonrpc::Id::NULL {
                        // The text allows a null id, but the table does not.
                        document.as_object_mut().unwrap().remove("id");
                    }
                    assert_is_error(version, &document);
                }
            }
        }
    }
}
