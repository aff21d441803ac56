//! The maximum nesting of values. Most protobuf readers refuse more than a hundred nested messages, not counting the
//! outermost message.

use std::sync::Arc;

use nuncio_engine::Limits;
use nuncio_model::{
    AgentCard, Artifact, Message, Method, Part, Reply, StreamResponse, Struct, Task, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Value, card::AgentExtension, op::ListTasksResponse,
};
use nuncio_wire::{Version, dialect};
use prost_reflect::{DynamicMessage, Value as Reflected};
use serde_json::json;

use super::oracle::POOL;

/// The maximum nesting of values that are written.
const DEEPEST: usize = 31;

/// Nested objects, which need the most messages per level, and a list of them, which needs more in versions before 1.0.
fn values(levels: usize) -> [Value; 2] {
    let objects = |levels| (0..levels).fold(json!("x"), |inner, _| json!({"k": inner}));
    [objects(levels), json!([objects(levels - 1)])]
}

fn members(levels: usize) -> Struct {
    [("k".to_owned(), values(levels - 1)[0].clone())].into_iter().collect()
}

/// A task with a value in every possible place.
fn task(value: &Value, metadata: &Struct) -> Task {
    let parts = || vec![Part::data(value.clone()).with_metadata(metadata.clone())];
    let message = || Message { parts: parts(), ..Message::agent("x") }.with_metadata(metadata.clone());
    let mut task = Task::new("t".into(), "c".into());
    task.status = TaskStatus { state: TaskState::Completed, message: Some(Box::new(message())), timestamp: None };
    task.history = vec![message()];
    let artifact = Artifact { metadata: Some(Box::new(metadata.clone())), ..Artifact::new("a", parts()) };
    task.artifacts = vec![artifact];
    task.metadata = Some(Box::new(metadata.clone()));
    task
}

fn card(levels: usize) -> AgentCard {
    let mut card = AgentCard::new("agent", "An agent.");
    let extension = AgentExtension { params: Some(Box::new(members(levels))), ..Default::default() };
    card.capabilities.extensions = vec![extension];
    card
}

/// All messages that a server of a version writes for values of this depth, with the names of the messages.
fn written(version: Version, levels: usize) -> Vec<(&'static str, Vec<u8>)> {
    let grpc = dialect(version).grpc().unwrap();
    let mut all = Vec::new();
    for value in values(levels) {
        let task = task(&value, &members(levels));
        let message = task.history[0].clone();
        let mut reply = |name, method, reply: Reply| {
            let mut bytes = Vec::new();
            grpc.encode_reply(method, &reply, &mut bytes).unwrap();
            all.push((name, bytes));
        };
        reply("Task", Method::GetTask, Reply::Task(Arc::new(task.clone())));
        reply("SendMessageResponse", Method::SendMessage, Reply::Task(Arc::new(task.clone())));
        reply("SendMessageResponse", Method::SendMessage, Reply::Message(Box::new(message)));
        reply("AgentCard", Method::GetExtendedAgentCard, Reply::Card(Arc::new(card(levels))));
        if version == Version::V1_0 {
            let page = ListTasksResponse { tasks: vec![task.clone()], ..Default::default() };
            reply("ListTasksResponse", Method::ListTasks, Reply::Tasks(page));
        }
        let status = TaskStatusUpdateEvent {
            status: task.status.clone(),
            metadata: task.metadata.clone(),
            ..Default::default()
        };
        for event in [StreamResponse::StatusUpdate(status), StreamResponse::Task(task)] {
            let mut bytes = Vec::new();
            grpc.encode_event(&event, &mut bytes);
            all.push(("StreamResponse", bytes));
        }
    }
    all
}

/// The number of nested messages in a message, in the count of protobuf readers: each entry of a map is also a message.
fn depth(message: &DynamicMessage) -> usize {
    fn of(value: &Reflected) -> usize {
        match value {
            Reflected::Message(message) => 1 + depth(message),
            Reflected::List(values) => values.iter().map(of).max().unwrap_or_default(),
            Reflected::Map(entries) => entries.values().map(|value| 1 + of(value)).max().unwrap_or_default(),
            _ => 0,
        }
    }
    message.fields().map(|(_, value)| of(value)).max().unwrap_or_default()
}

/// The maximum depth of all messages that a server writes.
fn deepest(version: Version, levels: usize) -> usize {
    let package = if version == Version::V1_0 { "lf.a2a.v1" } else { "a2a.v1" };
    let depth = |(name, bytes): (&str, Vec<u8>)| {
        let descriptor = POOL.get_message_by_name(&format!("{package}.{name}")).unwrap();
        depth(&DynamicMessage::decode(descriptor, &bytes[..]).unwrap())
    };
    written(version, levels).into_iter().map(depth).max().unwrap()
}

#[test]
fn the_nesting_limit_of_the_engine_suits_all_protobuf_readers() {
    assert!(Limits::default().nesting <= DEEPEST);
    for version in Version::ALL.iter().copied().filter(|version| dialect(*version).grpc().is_some()) {
        let depths = [Limits::default().nesting, DEEPEST, DEEPEST + 1].map(|levels| deepest(version, levels));
        let expected = if version == Version::V1_0 { [95, 98, 101] } else { [97, 100, 103] };
        assert_eq!(depths, expected, "{version}");
    }
}
