//! Structured data as Rust types.

use nuncio_model::{Message, Part, TaskState, op::SendMessageRequest};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{engine, send};

#[derive(Serialize, Deserialize)]
struct Order {
    dish: String,
    guests: u32,
}

/// The outcome for this part: the state, and the text of the status.
async fn answer(part: Part) -> (TaskState, String) {
    let engine = engine(|turn| async move {
        let order: Order = turn.data()?;
        let part = turn.output(&Order { guests: order.guests + 1, ..order })?;
        turn.artifact("order").finish(part).await
    });
    let mut message = Message::user("for tonight");
    message.parts.push(part);
    let task = send(&engine, SendMessageRequest::new(message)).await.unwrap();
    let data = task.artifacts.first().and_then(|it| it.parts.iter().next().and_then(|it| it.as_data().cloned()));
    let text = data.map(|data| data.as_str().to_owned()).or_else(|| Some(task.status.message.as_ref()?.text()));
    (task.state(), text.unwrap_or_default())
}

#[tokio::test]
async fn data_is_read_and_written_as_types() {
    let (state, text) = answer(Part::json(&Order { dish: "soup".into(), guests: 2 }).unwrap()).await;
    assert_eq!((state, text.as_str()), (TaskState::Completed, r#"{"dish":"soup","guests":3}"#));
}

#[tokio::test]
async fn the_client_reads_the_fault_of_its_data() {
    let (state, text) = answer(Part::data(json!({"dish": "soup"}))).await;
    assert_eq!(state, TaskState::Failed);
    assert!(text.starts_with("the data of the message is not as expected: missing field `guests`"), "{text}");
    let (_, text) = answer(Part::text("soup for two")).await;
    assert_eq!(text, "the message has no data part");
    // Data that does not follow the schema of the client is not sent.
    let schema = json!({"schema": {"properties": {"guests": {"maximum": 2}}}});
    let order = Part::data(json!({"dish": "soup", "guests": 2})).with_metadata(schema.as_object().unwrap().clone());
    let (state, text) = answer(order).await;
    assert_eq!(state, TaskState::Failed);
    assert!(text.contains("/guests: 3 is greater than the maximum of 2"), "{text}");
}
