//! gRPC of 0.3, for clients that know only 0.3 and declare no version.

use nuncio_model::{Call, ErrorKind, Method, Reply, StreamResponse, TaskState, op};
use nuncio_wire::{
    GrpcDialect, Version, Versions, dialect,
    proto::{health, metadata},
};

use super::{
    Running,
    client::{Outgoing, framed, text},
};

const SERVICE: &str = "a2a.v1.A2AService";

fn v03() -> &'static dyn GrpcDialect {
    dialect(Version::V0_3).grpc().unwrap()
}

async fn running() -> Running {
    Running::with(|builder| builder.versions(Versions::only([Version::V0_3, Version::V1_0]))).await
}

fn outgoing(call: impl Into<Call>) -> Outgoing {
    let call = call.into();
    let mut message = Vec::new();
    v03().encode_call(&call, &mut message).unwrap();
    Outgoing::raw(v03().path(call.method()).unwrap(), framed(&message)).without("a2a-version")
}

#[tokio::test]
async fn a_message_is_sent_and_its_task_read() {
    let running = running().await;
    let answer = running.client.send(outgoing(text("hello"))).await;
    answer.outcome().unwrap();
    let Reply::Task(task) = v03().decode_reply(Method::SendMessage, &answer.messages[0]).unwrap() else {
        panic!("no task: {answer:?}");
    };
    assert_eq!((task.state(), &*task.artifacts[0].text()), (TaskState::Completed, "hello"));
    let answer = running.client.send(outgoing(op::GetTaskRequest::new(task.id.clone()))).await;
    let Reply::Task(read) = v03().decode_reply(Method::GetTask, &answer.messages[0]).unwrap() else {
        panic!("no task: {answer:?}");
    };
    assert_eq!(read, task);
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_its_last_event_is_final() {
    let running = running().await;
    let answer = running.client.send(outgoing(op::SendStreamingMessageRequest(text("chunks 3")))).await;
    answer.outcome().unwrap();
    let events: Vec<_> = answer.messages.iter().map(|message| v03().decode_event(message).unwrap()).collect();
    assert!(matches!(events[0], StreamResponse::Task(_)));
    let Some(StreamResponse::StatusUpdate(update)) = events.last() else { panic!("{events:?}") };
    assert_eq!(update.status.state, TaskState::Completed);
    // { status_update: { …, final: true } }
    assert!(answer.messages.last().unwrap().windows(2).any(|bytes| bytes == b"\x20\x01"));
}

#[tokio::test]
async fn errors_have_the_codes_and_names_of_0_3() {
    let running = running().await;
    let answer = running.client.send(outgoing(op::GetTaskRequest::new("no-such"))).await;
    let error = answer.outcome().unwrap_err();
    assert_eq!((answer.code(), error.kind()), (5, ErrorKind::TaskNotFound));
    let message = answer.headers[metadata::MESSAGE].to_str().unwrap();
    assert!(message.starts_with("TaskNotFoundError: "), "{message}");
    let path = v03().path(Method::CancelTask).unwrap();
    let answer = running.client.send(Outgoing::raw(path, framed(b"\xff")).without("a2a-version")).await;
    assert_eq!((answer.code(), answer.outcome().unwrap_err().kind()), (13, ErrorKind::Parse));
}

#[tokio::test]
async fn the_service_is_known_if_its_version_is_enabled() {
    let mut question = vec![0x0a, u8::try_from(SERVICE.len()).unwrap()];
    question.extend_from_slice(SERVICE.as_bytes());
    let ask = || Outgoing::raw(health::CHECK, framed(&question)).without("a2a-version");
    assert_eq!(running().await.client.send(ask()).await.code(), 0);
    let other = Running::with(|builder| builder.versions(Versions::only([Version::V1_0]))).await;
    assert_eq!(other.client.send(ask()).await.code(), 5);
    let answer = other.client.send(outgoing(text("hello"))).await;
    assert_eq!(answer.outcome().unwrap_err().kind(), ErrorKind::VersionNotSupported);
}

#[tokio::test]
async fn without_an_extended_card_the_public_card_is_returned() {
    let running = running().await;
    let answer = running.client.send(outgoing(op::GetExtendedAgentCardRequest::default())).await;
    answer.outcome().unwrap();
    let reply = v03().decode_reply(Method::GetExtendedAgentCard, &answer.messages[0]).unwrap();
    let Reply::Card(card) = reply else { panic!("no card: {answer:?}") };
    assert_eq!(card.name, "test");
    assert!(!card.supported_interfaces.is_empty());
}
