//! Reopening a task that has ended (0.1, `tasks/send`). The server creates a new task under the same id and in the same
//! session, which refers to the previous task.

use nuncio_model::{
    Caller, Calling, Request, Task,
    op::{ListTasksRequest, ListTasksResponse},
};
use nuncio_wire::v0_1::METADATA_KEY;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::harness::{OldestClient, builder, engine, message, scope, summaries};

#[tokio::test]
async fn a_task_can_be_reopened_repeatedly() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let first = client.send("t", "chunks").await.unwrap();
    assert_eq!(first["artifacts"].as_array().unwrap().len(), 2);
    for text in ["dig", "sow", "ask"] {
        let next = client.send("t", text).await.unwrap();
        assert_eq!((&next["id"], &next["sessionId"]), (&json!("t"), &first["sessionId"]));
        assert!(next.get("artifacts").is_none(), "the new task has no artifacts of the previous task");
        assert_eq!(client.get("t").await.unwrap()["status"], next["status"]);
    }
    // The last task asked a question, so the message continues the task.
    assert_eq!(client.send("t", "rake").await.unwrap()["status"]["state"], "completed");
    let reply = engine.call(Request::new(scope("ann"), ListTasksRequest::default())).await.unwrap();
    let mut tasks = ListTasksResponse::try_from(reply).unwrap().tasks;
    assert_eq!(tasks.len(), 4);
    tasks.sort_by_key(generation);
    for (before, task) in tasks.iter().zip(tasks.iter().skip(1)) {
        let mark = &task.metadata.as_ref().unwrap()[METADATA_KEY];
        assert_eq!(*mark, json!({"taskId": "t", "generation": generation(before) + 1, "continues": before.id}));
        assert_eq!(task.context_id, before.context_id);
        assert_eq!(task.history[0].reference_task_ids, std::slice::from_ref(&before.id));
    }
}

fn generation(task: &Task) -> u64 {
    task.metadata.as_ref().unwrap()[METADATA_KEY]["generation"].as_u64().unwrap()
}

#[tokio::test]
async fn two_concurrent_messages_reopen_a_task_once() {
    let engine = builder(|turn| async move {
        if turn.message().text() == "end" { turn.complete("done").await } else { turn.ask("and?").await }
    })
    .build();
    let client = OldestClient(&engine, "ann");
    client.send("t", "end").await.unwrap();
    let (one, two) = tokio::join!(client.send("t", "one"), client.send("t", "two"));
    one.unwrap();
    two.unwrap();
    let reply = engine.call(Request::new(scope("ann"), ListTasksRequest::default())).await.unwrap();
    assert_eq!(ListTasksResponse::try_from(reply).unwrap().tasks.len(), 2);
}

/// Counts calls.
struct Counted<'a>(&'a dyn Caller, AtomicUsize);

impl Caller for Counted<'_> {
    fn call(&self, request: Request) -> Calling<'_> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.call(request)
    }
}

#[tokio::test]
async fn lookups_stay_few_after_many_reopenings() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    for _ in 0..100 {
        client.send("t", "dig").await.unwrap();
    }
    let counted = Counted(&engine, AtomicUsize::new(0));
    OldestClient(&counted, "ann").get("t").await.unwrap();
    // One of the calls is the subscription for the statuses, because the client asks for a length of the history.
    assert!(counted.1.load(Ordering::Relaxed) <= 15, "{:?}", counted.1);
    let fresh = Counted(&engine, AtomicUsize::new(0));
    OldestClient(&fresh, "ann").send("new", "ask").await.unwrap();
    assert_eq!(fresh.1.load(Ordering::Relaxed), 3, "two lookups and the message");
}

#[tokio::test]
async fn a_streaming_message_reopens_a_task() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    client.send("t", "dig").await.unwrap();
    let events = client.stream("tasks/sendSubscribe", message("t", "chunks")).await;
    let summaries = summaries(&events);
    assert_eq!(summaries[0], "submitted");
    assert_eq!(summaries.last().unwrap(), "completed.");
    assert!(events.iter().all(|event| event["id"] == "t"));
}

/// An engine in which the task ends between the lookup and the delivery, as often as requested: another message is
/// faster.
struct Hasty<'a>(&'a nuncio_engine::Engine, AtomicUsize);

impl Caller for Hasty<'_> {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let mut other = request.clone();
            if let nuncio_model::Call::SendMessage(call) = &mut other.call
                && self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                call.message.parts = nuncio_model::Message::user("rake").parts;
                self.0.call(other).await?;
            }
            self.0.call(request).await
        })
    }
}

#[tokio::test]
async fn a_task_that_ends_during_delivery_is_reopened() {
    for faster in [1, 30] {
        let engine = engine();
        OldestClient(&engine, "ann").send("t", "ask").await.unwrap();
        let done = OldestClient(&Hasty(&engine, AtomicUsize::new(faster)), "ann").send("t", "dig").await.unwrap();
        assert_eq!(done["status"]["message"]["parts"][0]["text"], "did dig");
        let reply = engine.call(Request::new(scope("ann"), ListTasksRequest::default())).await.unwrap();
        assert_eq!(ListTasksResponse::try_from(reply).unwrap().tasks.len(), 1 + faster);
    }
}
