//! The turn of an answer on a node that does not run the task: for commands, and for duplicates.

use std::{sync::atomic::Ordering, time::Duration};

use nuncio_engine::Idempotency;
use nuncio_model::{
    Message, Task, TaskState,
    op::{SendMessageRequest, SendStreamingMessageRequest},
};
use tokio::time::sleep;

use crate::{
    cluster::{LEASE, Node, Nodes, begin, until_messages},
    support::*,
};

fn nodes() -> Nodes {
    let mut nodes = Nodes::new();
    nodes.idempotency = Idempotency::Within(Duration::from_mins(10));
    nodes
}

/// A message of the task, with its text as its id.
fn next(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message { message_id: text.into(), ..follow(task, text).message })
}

/// Creates a task, and two messages that wait behind its first message.
async fn two_wait(node: &Node) -> Task {
    let task = begin(node, "1 first?").await;
    for (number, text) in [(2, "2 second?"), (3, "3 third?")] {
        send(&node.engine, at_once(next(&task, text).message)).await.unwrap();
        until_messages(node, &task, number).await;
    }
    task
}

fn asked(task: &Task) -> String {
    assert_state(task, TaskState::InputRequired);
    task.status.message.as_ref().unwrap().text()
}

/// The turns run one by one, so that each end is visible, or all at once.
#[tokio::test(start_paused = true)]
async fn a_duplicate_on_another_node_is_answered_with_its_own_turn() {
    for steps in [&[2, 2, 2][..], &[6]] {
        let nodes = nodes();
        let (a, b) = nodes.two().await;
        let task = two_wait(&a).await;
        let again: Vec<_> = ["2 second?", "3 third?"]
            .into_iter()
            .map(|text| {
                let (engine, request) = (b.engine.clone(), next(&task, text));
                let streamed = {
                    let (engine, request) = (engine.clone(), SendStreamingMessageRequest(request.clone()));
                    tokio::spawn(async move { summaries(&rest(events(call(&engine, request).await.unwrap())).await) })
                };
                (tokio::spawn(async move { send(&engine, request).await.unwrap() }), streamed)
            })
            .collect();
        for step in steps {
            sleep(Duration::from_secs(2)).await;
            nodes.open(*step);
        }
        for ((answer, streamed), (question, chunk, messages)) in
            again.into_iter().zip([("second", "2", 4), ("third", "3", 5)])
        {
            let answer = within(answer).await.unwrap();
            assert_eq!((&*asked(&answer), answer.history.len()), (question, messages), "{steps:?}");
            let seen = within(streamed).await.unwrap();
            assert_eq!(seen[seen.len() - 2..], [format!("artifact:{chunk}"), "input-required".to_owned()], "{steps:?}");
        }
        assert_eq!(nodes.runs(), 3);
    }
}

/// If the node took the task over, it does not know the first request.
#[tokio::test(start_paused = true)]
async fn a_duplicate_after_a_takeover_is_answered_with_its_own_turn() {
    let nodes = nodes();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = two_wait(&a).await;
    a.store.cut_off(true);
    sleep(LEASE + Duration::from_secs(2)).await;
    let again = tokio::spawn({
        let (engine, request) = (b.engine.clone(), next(&task, "2 second?"));
        async move { send(&engine, request).await.unwrap() }
    });
    sleep(Duration::from_secs(1)).await;
    nodes.open(8);
    assert_eq!(asked(&within(again).await.unwrap()), "second");
}

/// A message without a turn gets an error. If the turn of a message ends the task, the message gets the task.
#[tokio::test(start_paused = true)]
async fn a_duplicate_on_another_node_without_a_turn_is_an_error() {
    let nodes = nodes();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    for text in ["2", "3 third?"] {
        send(&a.engine, at_once(next(&task, text).message)).await.unwrap();
    }
    let again = |text: &str| {
        let (engine, request) = (b.engine.clone(), next(&task, text));
        tokio::spawn(async move { send(&engine, request).await })
    };
    let (second, third) = (again("2"), again("3 third?"));
    sleep(Duration::from_secs(2)).await;
    nodes.open(8);
    assert_state(&within(second).await.unwrap().unwrap(), TaskState::Completed);
    let error = within(third).await.unwrap().unwrap_err();
    assert!(error.message().contains("before this message had its turn"), "{error:?}");
}

/// Records after the turn of a command can be read together with the turn.
#[tokio::test(start_paused = true)]
async fn a_message_by_command_is_answered_with_its_own_turn_also_when_others_follow_at_once() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    let second = tokio::spawn({
        let (engine, request) = (b.engine.clone(), follow(&task, "2 second?"));
        async move { send(&engine, request).await.unwrap() }
    });
    until_messages(&a, &task, 2).await;
    send(&a.engine, at_once(follow(&task, "3 third?").message)).await.unwrap();
    nodes.open(8);
    assert_eq!(asked(&within(second).await.unwrap()), "second");
}
