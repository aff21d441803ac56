//! Commands for tasks on other nodes: failures on the way, and limits.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use nuncio_engine::{Record, TaskStore as _, store::Commit};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    Error, ErrorKind, Message, Scope, StreamResponse, Task, TaskState, TaskStatus, Timestamp, op::SendMessageRequest,
};
use tokio::{task::JoinHandle, time::sleep};

use crate::{
    cluster::{LEASE, Node, Nodes, begin, until_messages, waits_behind},
    support::*,
};

const SECOND: Duration = Duration::from_secs(1);

fn sends(node: &Node, request: SendMessageRequest) -> JoinHandle<Result<Task, Error>> {
    let engine = node.engine.clone();
    tokio::spawn(async move { send(&engine, request).await })
}

fn more_at_once(task: &Task, text: &str) -> SendMessageRequest {
    at_once(follow(task, text).message)
}

/// The command is stored, its sender does not know this, and the receiving node fails before the second attempt.
#[tokio::test(start_paused = true)]
async fn a_message_of_a_command_without_an_answer_has_one_turn() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    a.store.cut_off(true);
    sleep(LEASE * 5 / 6).await;
    b.store.set(|faults| faults.loses_answers_to_commands = true);
    let sent = sends(&b, follow(&task, "2 second?"));
    sleep(SECOND + SECOND / 10).await;
    b.store.set(|faults| faults.loses_answers_to_commands = false);
    sleep(SECOND).await;
    nodes.open(8);
    let answer = within(sent).await.unwrap().unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "second");
    assert_eq!(history(&answer), ["1 first?", "2 second?", "first"]);
    assert_eq!(nodes.runs(), 3, "the first, the first again, and the second");
}

/// After an error without effect, the client can send the message again.
#[tokio::test(start_paused = true)]
async fn a_message_refused_for_a_lost_answer_has_no_turn() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    a.store.cut_off(true);
    b.store.set(|faults| faults.loses_answers_to_commands = true);
    let error = within(sends(&b, follow(&task, "2"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    a.store.cut_off(false);
    // The node has read its pending commands.
    sleep(SECOND * 2).await;
    nodes.open(2);
    sleep(SECOND).await;
    let task = get(&a.engine, &task).await;
    assert_state(&task, TaskState::InputRequired);
    assert_eq!(history(&task), ["1 first?"]);
}

#[tokio::test(start_paused = true)]
async fn an_acknowledged_cancel_survives_the_loss_of_the_lease() {
    for from_elsewhere in [false, true] {
        let mut nodes = Nodes::new();
        nodes.resumes.store(true, Ordering::SeqCst);
        nodes.limits.cancel_grace = SECOND * 4;
        let (a, b) = nodes.two().await;
        let task = begin(&a, "1 first?").await;
        let engine = if from_elsewhere { &b.engine } else { &a.engine };
        let canceled = tokio::spawn({
            let (engine, task) = (engine.clone(), task.clone());
            async move { cancel(&engine, &task).await }
        });
        sleep(SECOND / 2).await;
        // The turn was asked to stop, and moves to another node first.
        a.store.rejoin().await;
        sleep(LEASE).await;
        assert_state(&within(canceled).await.unwrap().unwrap(), TaskState::Canceled);
    }
}

/// The node that gets the cancel finds that no node owns the task, while its own lease is invalid.
#[tokio::test(start_paused = true)]
async fn an_acknowledged_cancel_waits_for_the_next_lease_of_its_node() {
    let mut nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    nodes.limits.cancel_grace = SECOND * 8;
    let a = nodes.node().await;
    let task = begin(&a, "1 first?").await;
    let canceled = tokio::spawn({
        let (engine, task) = (a.engine.clone(), task.clone());
        async move { cancel(&engine, &task).await }
    });
    sleep(SECOND / 2).await;
    a.store.stall(true);
    sleep(LEASE + SECOND).await;
    assert_eq!(a.engine.running(), 0);
    a.store.stall(false);
    assert_state(&canceled.await.unwrap().unwrap(), TaskState::Canceled);
    assert_eq!(nodes.runs(), 2, "the turn that was to stop was run again");
}

#[tokio::test(start_paused = true)]
async fn an_unreported_refusal_is_reported_later() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1").await;
    for _ in 0..2 {
        send(&b.engine, more_at_once(&task, "2")).await.unwrap();
    }
    a.store.set(|faults| faults.refuses_reports = true);
    let refused = sends(&b, follow(&task, "3"));
    sleep(SECOND * 3).await;
    assert!(!refused.is_finished());
    a.store.set(|faults| faults.refuses_reports = false);
    let error = within(refused).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::ResourceExhausted, Some(RETRY_AFTER)));
    assert_eq!(get(&a.engine, &task).await.history.len(), 3);
}

/// The node that owns the task counts messages of commands.
#[tokio::test(start_paused = true)]
async fn messages_of_commands_count_as_waiting() {
    let mut nodes = Nodes::new();
    (nodes.limits.queued_messages, nodes.limits.queued_in_all) = (10, 3);
    let a = nodes.node().await;
    nodes.limits.queued_in_all = 100;
    let b = nodes.node().await;
    let task = begin(&a, "1 2?").await;
    for _ in 0..3 {
        send(&b.engine, more_at_once(&task, "3?")).await.unwrap();
    }
    for node in [&a, &b] {
        let error = send(&node.engine, more_at_once(&task, "4?")).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::ResourceExhausted, Some(RETRY_AFTER)));
    }
    nodes.open(5);
    until_messages(&b, &task, 7).await;
    sleep(SECOND).await;
    send(&b.engine, more_at_once(&task, "4?")).await.unwrap();
}

/// The sending node counts them, too, until their turns begin.
#[tokio::test(start_paused = true)]
async fn messages_that_wait_on_another_node_count_on_the_sending_node() {
    let mut nodes = Nodes::new();
    (nodes.limits.queued_messages, nodes.limits.queued_in_all) = (10, 100);
    let a = nodes.node().await;
    nodes.limits.queued_in_all = 2;
    let b = nodes.node().await;
    let task = begin(&a, "1 2?").await;
    let waiting = [sends(&b, follow(&task, "3?")), sends(&b, follow(&task, "4?"))];
    until_messages(&a, &task, 3).await;
    let error = send(&b.engine, follow(&task, "5?")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    nodes.open(3);
    until_messages(&a, &task, 5).await;
    sleep(SECOND / 10).await;
    let third = sends(&b, follow(&task, "5?"));
    until_messages(&a, &task, 6).await;
    nodes.open(2);
    for sent in waiting.into_iter().chain([third]) {
        assert_state(&within(sent).await.unwrap().unwrap(), TaskState::InputRequired);
    }
}

/// A command that a runner has not committed yet is not returned again, and does not block other commands.
#[tokio::test(start_paused = true)]
async fn a_command_is_in_an_inbox_once() {
    let mut nodes = Nodes::new();
    nodes.limits.commit_retry = SECOND * 20;
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 2?").await;
    a.store.set(|faults| faults.refuses_commits = true);
    nodes.open(1);
    sleep(SECOND / 10).await;
    let there = sends(&b, more_at_once(&task, "3"));
    sleep(SECOND * 4).await;
    let here = sends(&a, more_at_once(&task, "4"));
    sleep(SECOND / 10).await;
    assert!(!here.is_finished() && !there.is_finished());
    a.store.set(|faults| faults.refuses_commits = false);
    for sent in [here, there] {
        within(sent).await.unwrap().unwrap();
    }
    assert_eq!(get(&b.engine, &task).await.history.len(), 3);
}

/// A node that loses a task forwards the messages of its clients. A message of a command waits in the store for the
/// next owner. Each message has one turn.
#[tokio::test(start_paused = true)]
async fn messages_of_a_lost_task_have_a_single_turn_on_the_next_node() {
    let mut nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    nodes.limits.queued_messages = 10;
    nodes.limits.commit_retry = LEASE * 4;
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    a.store.set(|faults| faults.refuses_commits = true);
    let by_command = sends(&b, follow(&task, "2 second?"));
    let by_client = sends(&a, follow(&task, "3 third?"));
    // Both messages are in the inbox of the runner on `a`, and not in the log.
    sleep(SECOND * 2).await;
    assert!(!by_command.is_finished() && !by_client.is_finished());
    a.store.rejoin().await;
    sleep(LEASE + SECOND).await;
    a.store.set(|faults| faults.refuses_commits = false);
    nodes.open(12);
    for sent in [by_command, by_client] {
        assert_state(&within(sent).await.unwrap().unwrap(), TaskState::InputRequired);
    }
    sleep(LEASE).await;
    let mut messages = history(&get(&b.engine, &task).await);
    messages.sort();
    assert_eq!(messages, ["1 first?", "2 second?", "3 third?", "first", "second"]);
}

/// The owner of the task leaves before the command is stored, so the sending node must run the task, and has no room.
#[tokio::test(start_paused = true)]
async fn a_message_to_a_task_without_an_owner_is_refused_when_no_turn_is_free() {
    let mut nodes = Nodes::new();
    let a = nodes.node().await;
    nodes.limits.running_turns = 1;
    let b = nodes.node().await;
    let task = begin(&a, "1 first?").await;
    b.store.set(|faults| faults.refuses_commands = true);
    let sent = sends(&b, follow(&task, "2 second?"));
    sleep(SECOND / 100).await;
    begin(&b, "1 another?").await;
    a.store.close().await.unwrap();
    b.store.set(|faults| faults.refuses_commands = false);
    let error = within(sent).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    assert_eq!(error.metadata()["limit"], "running_turns");
}

/// A task that a live node owns without a runner, as after a claim with a lost answer.
#[tokio::test(start_paused = true)]
async fn a_command_for_a_task_without_a_runner_has_it_settled() {
    let nodes = Nodes::new();
    nodes.open(4);
    let (a, b) = nodes.two().await;
    let task = left_by(&a, "fails").await;
    let error = within(sends(&b, follow(&task, "2"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error:?}");
    assert_state(&get(&b.engine, &task).await, TaskState::Failed);
    nodes.resumes.store(true, Ordering::SeqCst);
    let task = left_by(&a, "resumes").await;
    let answer = within(sends(&b, follow(&task, "2?"))).await.unwrap().unwrap();
    assert_state(&answer, TaskState::InputRequired);
    assert_eq!(history(&answer), ["1?", "2?", "1"]);
    assert_eq!(nodes.runs(), 2);
}

/// A running task of a node that does not run it.
async fn left_by(node: &Node, id: &str) -> Task {
    let mut task = Task::new(id.into(), "context".into());
    task.status = TaskStatus::new(TaskState::Working);
    task.history.push(Message::user("1?"));
    let commit = Commit {
        scope: Scope::open(),
        id: task.id.clone(),
        context: "context".into(),
        expected: 0,
        epoch: 0,
        records: vec![Record::update(1, StreamResponse::Task(task.clone()))],
        state: TaskState::Working,
        updated: Timestamp::now(),
        released: false,
        snapshot: Some(Arc::new(task.clone())),
        push_configs: Vec::new(),
        acks: Vec::new(),
        remember: None,
    };
    node.store.commit(commit).await.unwrap();
    task
}

/// Waiting messages for other nodes are checked with one query.
#[tokio::test(start_paused = true)]
async fn waiting_commands_cost_one_query_per_second() {
    let mut nodes = Nodes::on(None);
    nodes.limits.queued_messages = 64;
    let (a, b) = nodes.two().await;
    let tasks = [begin(&a, "1 2?").await, begin(&a, "1 2?").await];
    let mut waiting: Vec<_> = tasks.iter().map(|task| sends(&b, follow(task, "3?"))).collect();
    waiting.extend((0..40).map(|number| sends(&b, follow(&tasks[number % 2], "3?"))));
    for task in &tasks {
        until_messages(&a, task, 22).await;
    }
    sleep(SECOND * 3).await;
    let before = b.store.reads();
    sleep(SECOND * 10).await;
    let reads = b.store.reads() - before;
    assert!(reads <= 11, "{reads}");
    nodes.open(4 + waiting.len());
    for sent in waiting {
        assert_state(&within(sent).await.unwrap().unwrap(), TaskState::InputRequired);
    }
}

/// A call that did not wait for the turn is answered, and the task is not followed.
#[tokio::test(start_paused = true)]
async fn a_command_without_a_waiting_caller_is_done_after_its_acknowledgement() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 2?").await;
    send(&b.engine, more_at_once(&task, "3?")).await.unwrap();
    let left = waits_behind(&b, &task, "4?").await;
    until_messages(&b, &task, 3).await;
    left.abort();
    within(async {
        while b.engine.live_tasks() > 0 {
            sleep(SECOND / 10).await;
        }
    })
    .await;
    nodes.open(5);
    until_messages(&b, &task, 5).await;
    assert_eq!(nodes.runs(), 3);
}
