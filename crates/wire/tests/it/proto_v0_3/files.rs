//! The encodings of files: the bytes, or their base64 text as in the Python SDK.

use std::sync::Arc;

use nuncio_model::{
    Artifact, Call, Message, Method, Part, Reply, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
    TaskStatusUpdateEvent,
    op::{SendMessageRequest, SendStreamingMessageRequest},
};
use nuncio_wire::{Dialect, Events, FileBytes, Version, Versions, dialect_with, rest};
use proptest::prelude::*;
use prost_reflect::DynamicMessage;
use serde_json::Value;

fn dialect(files: FileBytes) -> &'static dyn Dialect {
    dialect_with(Version::V0_3, files)
}

fn message(bytes: &[u8], media_type: &str) -> Message {
    let mut message = Message::user(Part::raw(bytes).with_media_type(media_type));
    message.message_id = "m".into();
    message
}

fn task(bytes: &[u8], media_type: &str) -> Task {
    let message = message(bytes, media_type);
    Task {
        id: "t".into(),
        context_id: Some("c".into()),
        status: TaskStatus { message: Some(Box::new(message.clone())), ..TaskStatus::default() },
        artifacts: vec![Artifact::new("a", message.parts.clone())],
        history: vec![message],
        ..Task::default()
    }
}

fn events(bytes: &[u8], media_type: &str) -> Vec<StreamResponse> {
    let task = task(bytes, media_type);
    let (task_id, context_id) = (task.id.clone(), task.context_id.clone().unwrap_or_default());
    vec![
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            status: task.status.clone(),
            metadata: None,
        }),
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact: task.artifacts[0].clone(),
            ..Default::default()
        }),
        StreamResponse::Message(message(bytes, media_type)),
        StreamResponse::Task(task),
    ]
}

fn written(events: &(impl Events + ?Sized), event: &StreamResponse) -> Vec<u8> {
    let mut to = Vec::new();
    events.encode_event(event, &mut to);
    to
}

fn holds(files: FileBytes, bytes: &[u8], media_type: &str) {
    let (grpc, rest) = (dialect(files).grpc().unwrap(), dialect(files).rest().unwrap());
    let send = SendMessageRequest::new(message(bytes, media_type));
    for call in [Call::from(send.clone()), Call::from(SendStreamingMessageRequest(send))] {
        let mut to = Vec::new();
        grpc.encode_call(&call, &mut to).unwrap();
        assert_eq!(grpc.decode_call(call.method(), &to).unwrap(), call);
        let encoded = rest.encode_call(&call).unwrap();
        let routed = rest.route(&encoded.method, &encoded.path).unwrap();
        assert_eq!(
            rest::decode_call(rest, &routed, None, Some(rest.content_type()), &encoded.body.unwrap()).unwrap(),
            call
        );
    }
    for (method, reply) in [
        (Method::GetTask, Reply::Task(Arc::new(task(bytes, media_type)))),
        (Method::SendMessage, Reply::Task(Arc::new(task(bytes, media_type)))),
        (Method::SendMessage, Reply::Message(Box::new(message(bytes, media_type)))),
    ] {
        let said = format!("{reply:?}");
        let (mut binary, mut json) = (Vec::new(), Vec::new());
        grpc.encode_reply(method, &reply, &mut binary).unwrap();
        rest.encode_reply(method, &reply, &mut json).unwrap();
        assert_eq!(format!("{:?}", grpc.decode_reply(method, &binary).unwrap()), said);
        assert_eq!(format!("{:?}", rest.decode_reply(method, &json).unwrap()), said);
    }
    for event in events(bytes, media_type) {
        assert_eq!(grpc.decode_event(&written(grpc, &event)).unwrap(), event);
        assert_eq!(rest.decode_event(&written(rest, &event)).unwrap(), event);
    }
}

proptest! {
    #[test]
    fn any_file_arrives_as_base64(bytes: Vec<u8>, image: bool) {
        holds(FileBytes::Base64, &bytes, if image { "image/png" } else { "text/plain" });
    }

    #[test]
    fn any_file_without_a_binary_media_type_arrives_raw(bytes: Vec<u8>) {
        holds(FileBytes::Raw, &bytes, "application/octet-stream");
    }
}

#[test]
fn a_file_of_base64_text_arrives_unchanged() {
    for media_type in ["image/png", "text/plain"] {
        holds(FileBytes::Base64, b"iVBORw0KGgo=", media_type);
    }
}

/// The bytes of the only artifact, read by an independent implementation of protobuf.
fn file_with_bytes(files: FileBytes) -> (Vec<u8>, String) {
    let event = StreamResponse::Task(task(b"\x00\xff!", "application/octet-stream"));
    let binary = written(dialect(files).grpc().unwrap(), &event);
    let read = DynamicMessage::decode(super::message("StreamResponse"), &*binary).unwrap();
    let json: Value = serde_json::from_slice(&written(dialect(files).rest().unwrap(), &event)).unwrap();
    let path = ["task", "artifacts", "parts", "file", "file_with_bytes"];
    let mut value = prost_reflect::Value::Message(read);
    for name in path {
        let message = match &value {
            prost_reflect::Value::List(list) => list[0].as_message().unwrap().clone(),
            other => other.as_message().unwrap().clone(),
        };
        value = message.get_field_by_name(name).unwrap().into_owned();
    }
    let text = json["task"]["artifacts"][0]["parts"][0]["file"]["fileWithBytes"].as_str().unwrap().to_owned();
    (value.as_bytes().unwrap().to_vec(), text)
}

#[test]
fn a_message_has_the_bytes_or_their_base64() {
    // In JSON, raw bytes are encoded once and base64 text is encoded twice.
    assert_eq!(file_with_bytes(FileBytes::Raw), (b"\x00\xff!".to_vec(), "AP8h".to_owned()));
    assert_eq!(file_with_bytes(FileBytes::Base64), (b"AP8h".to_vec(), "QVA4aA==".to_owned()));
}

#[test]
fn content_that_is_not_base64_counts_as_the_bytes() {
    let (raw, encoded) = (dialect(FileBytes::Raw).grpc().unwrap(), dialect(FileBytes::Base64).grpc().unwrap());
    for event in events(b"\x89PNG", "image/png") {
        assert_eq!(encoded.decode_event(&written(raw, &event)).unwrap(), event);
    }
}

#[test]
fn cached_encodings_stay_separate() {
    let event = nuncio_model::StreamEvent::new(None, events(b"\x00\x01", "text/plain").remove(1));
    event.keep_encodings();
    for version in [Version::V0_2, Version::V0_3] {
        for files in FileBytes::ALL {
            let dialect = dialect_with(version, *files);
            let (grpc, rest) = (dialect.grpc().unwrap(), dialect.rest().unwrap());
            assert_eq!(**grpc.shared_event(&event), *written(grpc, &event.response), "{version} {files}");
            assert_eq!(**rest.shared_event(&event), *written(rest, &event.response), "{version} {files}");
        }
    }
    let newest = dialect_with(Version::V1_0, FileBytes::Raw);
    assert_eq!(**newest.grpc().unwrap().shared_event(&event), *written(newest.grpc().unwrap(), &event.response));
}

#[test]
fn the_file_setting_of_a_server_applies_to_all_clients() {
    let versions = Versions::default().with_file_bytes(FileBytes::Base64);
    let (grpc, _) = versions.for_service(None, "/a2a.v1.A2AService/GetTask").unwrap();
    let event = events(b"\x00", "text/plain").remove(0);
    assert_eq!(written(grpc, &event), written(dialect(FileBytes::Base64).grpc().unwrap(), &event));
    let (rest, _) = versions.for_path(None, &http::Method::GET, "/v1/tasks/t").unwrap();
    assert_eq!(written(rest, &event), written(dialect(FileBytes::Base64).rest().unwrap(), &event));
    // JSON-RPC defines the member as base64, so the setting has no effect.
    let rpc = versions.for_method(None, "message/send").unwrap().dialect;
    let text = String::from_utf8(written(rpc, &event)).unwrap();
    assert!(text.contains("\"bytes\":\"AA==\""), "{text}");
}

#[test]
fn the_user_agent_of_a_client_decides_the_encoding_of_files() {
    let event = events(b"\x00", "text/plain").remove(0);
    let versions = Versions::default();
    let (grpc, _) = versions.for_service(None, "/a2a.v1.A2AService/GetTask").unwrap();
    let (rest, _) = versions.for_path(None, &http::Method::GET, "/v1/tasks/t").unwrap();
    for (user_agent, files) in [
        (Some("python-httpx/0.28.1"), FileBytes::Base64),
        (Some("grpc-python-asyncio/1.76.0 grpc-c/51.0.0 (linux; chttp2)"), FileBytes::Base64),
        (Some("my-agent/1 grpc-python/1.76.0 grpc-c/51.0.0"), FileBytes::Base64),
        (Some("node"), FileBytes::Raw),
        (Some("grpc-node-js/1.14.0"), FileBytes::Raw),
        (Some("not-python-httpx/1"), FileBytes::Raw),
        (None, FileBytes::Raw),
    ] {
        let expected = dialect(files);
        let chosen = versions.grpc_for_client(grpc, || user_agent);
        assert_eq!(written(chosen, &event), written(expected.grpc().unwrap(), &event), "{user_agent:?}");
        let chosen = versions.rest_for_client(rest, || user_agent);
        assert_eq!(written(chosen, &event), written(expected.rest().unwrap(), &event), "{user_agent:?}");
        for forced in FileBytes::ALL {
            let versions = Versions::default().with_file_bytes(*forced);
            let (rest, _) = versions.for_path(None, &http::Method::GET, "/v1/tasks/t").unwrap();
            let chosen = versions.rest_for_client(rest, || user_agent);
            assert_eq!(written(chosen, &event), written(dialect(*forced).rest().unwrap(), &event), "{user_agent:?}");
        }
    }
    let (newest, _) = versions.for_path(Some("1.0"), &http::Method::GET, "/tasks/t").unwrap();
    let chosen = versions.rest_for_client(newest, || panic!("1.0 has one form for all clients"));
    assert_eq!(chosen.dialect().version(), Version::V1_0);
}

#[test]
fn the_names_of_both_encodings_are_parsed() {
    for files in FileBytes::ALL {
        assert_eq!(files.to_string().parse(), Ok(*files));
    }
    assert!("hex".parse::<FileBytes>().is_err());
}
