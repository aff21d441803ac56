//! Several nodes with a shared store: each node serves requests for all tasks, and takes over the tasks of failed
//! nodes.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use nuncio_engine::{
    Agent, AgentError, Engine, EventBus, Idempotency, Limits, Turn,
    bus::{BusError, LocalBus, Subscription, Topic, Wake},
};
use nuncio_model::{
    Error, ErrorKind, EventStream, Message, Role, Task, TaskState,
    op::{SendMessageRequest, SendStreamingMessageRequest},
};
use nuncio_suites::{MemoryNode, SharedMemory};
use tokio::{sync::Semaphore, task::JoinHandle};

use crate::support::*;

pub(crate) const LEASE: Duration = Duration::from_secs(6);

/// Starts, and waits for the gate after each word of the message: `a b?` emits `a`, and asks `b`.
struct Script {
    gate: Arc<Semaphore>,
    resumes: Arc<AtomicBool>,
    epochs: Arc<Mutex<Vec<u64>>>,
}

impl Agent for Script {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        self.epochs.lock().unwrap().push(turn.epoch());
        turn.begin().await?;
        let text = turn.message().text();
        for word in text.split_whitespace() {
            self.gate.acquire().await?.forget();
            match word.strip_suffix('?') {
                Some(question) => return turn.ask(question).await,
                None => turn.artifact("out").chunk(word).await?,
            }
        }
        turn.complete("done").await
    }

    fn resumes(&self) -> bool {
        self.resumes.load(Ordering::SeqCst)
    }
}

/// A bus that loses all signals.
pub(crate) struct Silence;

#[async_trait]
impl EventBus for Silence {
    fn publish(&self, _: Topic, _: Wake) {}

    async fn subscribe(&self, _: Topic) -> Result<Box<dyn Subscription>, BusError> {
        Err(BusError("nobody is there".into()))
    }

    async fn check(&self) -> Result<(), BusError> {
        Ok(())
    }

    async fn close(&self, _: Duration) {}
}

pub(crate) struct Nodes {
    gate: Arc<Semaphore>,
    pub(crate) resumes: Arc<AtomicBool>,
    /// The epoch of each turn.
    epochs: Arc<Mutex<Vec<u64>>>,
    store: SharedMemory,
    /// The epochs of the next node.
    pub(crate) limits: Limits,
    pub(crate) idempotency: Idempotency,
    bus: Option<Arc<dyn EventBus>>,
}

pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<MemoryNode>,
}

impl Nodes {
    pub(crate) fn on(bus: Option<Arc<dyn EventBus>>) -> Self {
        let mut limits = Limits::default();
        limits.queued_messages = 2;
        Self {
            gate: Arc::new(Semaphore::new(0)),
            resumes: Arc::default(),
            epochs: Arc::default(),
            store: SharedMemory::new(LEASE),
            limits,
            idempotency: Idempotency::Off,
            bus,
        }
    }

    pub(crate) fn new() -> Self {
        Self::on(Some(Arc::new(LocalBus::new())))
    }

    pub(crate) async fn node(&self) -> Node {
        let store = Arc::new(self.store.node().await);
        let (gate, resumes) = (Arc::clone(&self.gate), Arc::clone(&self.resumes));
        let agent = Script { gate, resumes, epochs: Arc::clone(&self.epochs) };
        let mut card = nuncio_model::AgentCard::new("test", "Under test.");
        card.capabilities.streaming = Some(true);
        let limits = self.limits.clone();
        let mut builder = Engine::builder(agent).card(card).limits(limits).idempotency(self.idempotency);
        builder = builder.store(Arc::clone(&store) as _);
        if let Some(bus) = &self.bus {
            builder = builder.bus(Arc::clone(bus));
        }
        let engine = builder.build();
        engine.recover().await.unwrap();
        Node { engine, store }
    }

    pub(crate) async fn two(&self) -> (Node, Node) {
        (self.node().await, self.node().await)
    }

    pub(crate) fn open(&self, times: usize) {
        self.gate.add_permits(times);
    }

    pub(crate) fn runs(&self) -> usize {
        self.epochs.lock().unwrap().len()
    }
}

pub(crate) async fn begin(node: &Node, text: &str) -> Task {
    send(&node.engine, at_once(Message::user(text))).await.unwrap()
}

/// Waits until an artifact has this text on the other node.
async fn until_out(node: &Node, task: &Task, text: &str) {
    within(async {
        while get(&node.engine, task).await.artifacts.first().is_none_or(|it| it.text() != text) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Waits until a task has this number of messages in its history.
pub(crate) async fn until_messages(node: &Node, task: &Task, number: usize) {
    within(async {
        while get(&node.engine, task).await.history.len() < number {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Sends a message to a task with a running turn, and waits until the message is in the log.
pub(crate) async fn waits_behind(node: &Node, task: &Task, text: &str) -> JoinHandle<Result<Task, Error>> {
    let (engine, request) = (node.engine.clone(), follow(task, text));
    let waiting = tokio::spawn(async move { send(&engine, request).await });
    until_messages(node, task, 2).await;
    waiting
}

/// Waits until a node works on no task, while the clock advances.
async fn at_rest(node: &Node) {
    within(async {
        while node.engine.running() > 0 || node.engine.live_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

async fn numbered(events: EventStream) -> Vec<(u64, String)> {
    rest(events).await.iter().map(|event| (event.sequence.unwrap(), summary(event))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_read_on_every_node_as_on_its_own() {
    for bus in [Some(Arc::new(LocalBus::new()) as Arc<dyn EventBus>), Some(Arc::new(Silence)), None] {
        let nodes = Nodes::on(bus);
        let (a, b) = nodes.two().await;
        let task = begin(&a, "1 2 3").await;
        let here = subscribe(&a.engine, &task).await.unwrap();
        let there = subscribe(&b.engine, &task).await.unwrap();
        nodes.open(3);
        let (here, there) = (numbered(here).await, numbered(there).await);
        assert_eq!(here, there);
        assert_eq!(here.last().unwrap().1, "completed");
        assert_state(&get(&b.engine, &task).await, TaskState::Completed);
        at_rest(&b).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_finds_its_task_on_another_node() {
    for bus in [Some(Arc::new(LocalBus::new()) as Arc<dyn EventBus>), None] {
        let nodes = Nodes::on(bus);
        let (a, b) = nodes.two().await;
        let task = begin(&a, "1 2 first?").await;
        // The message waits for the running turn, and is answered with the outcome of its own turn.
        let second = send(&b.engine, follow(&task, "3 second?"));
        let (second, ()) = tokio::join!(second, async {
            until_messages(&b, &task, 2).await;
            nodes.open(5);
        });
        let second = second.unwrap();
        assert_state(&second, TaskState::InputRequired);
        assert_eq!(second.status.message.as_ref().unwrap().text(), "second");
        assert_eq!(history(&second), ["1 2 first?", "3 second?", "first"]);
        assert_eq!(nodes.runs(), 2);
        // The task rests, so the next node that gets a message owns the task.
        nodes.open(3);
        let third = send(&b.engine, follow(&task, "4")).await.unwrap();
        assert_state(&third, TaskState::Completed);
        assert_eq!(get(&a.engine, &task).await, third);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_on_another_node_ends_with_its_own_turn() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    let request = SendStreamingMessageRequest(follow(&task, "2 second?"));
    let events = call(&b.engine, request).await.map(events).unwrap();
    nodes.open(4);
    let seen = summaries(&rest(events).await);
    assert_eq!(seen[0], "task:working");
    assert_eq!(seen[seen.len() - 2..], ["artifact:2", "input-required"], "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_the_task_on_another_node() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1").await;
    assert_state(&cancel(&b.engine, &task).await.unwrap(), TaskState::Canceled);
    assert_state(&get(&a.engine, &task).await, TaskState::Canceled);
    let error = send(&b.engine, follow(&task, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_another_node_reaches_the_caller() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1").await;
    for _ in 0..2 {
        send(&b.engine, at_once(follow(&task, "2").message)).await.unwrap();
    }
    let error = send(&b.engine, at_once(follow(&task, "3").message)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    // The task ends before the turns of the other messages.
    nodes.open(1);
    let error = send(&b.engine, follow(&task, "4")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_node_loses_its_tasks() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 2 3").await;
    let here = tokio::spawn(rest(subscribe(&a.engine, &task).await.unwrap()));
    let there = subscribe(&b.engine, &task).await.unwrap();
    nodes.open(1);
    until_out(&b, &task, "1").await;
    let begun = tokio::time::Instant::now();
    a.store.cut_off(true);
    let seen = ["task:working", "artifact:1", "failed"];
    assert_eq!(summaries(&rest(there).await), seen);
    assert!(begun.elapsed() < LEASE + Duration::from_secs(2), "{:?}", begun.elapsed());
    // The events of the returning agent are lost, and readers continue.
    a.store.cut_off(false);
    nodes.open(2);
    assert_eq!(summaries(&here.await.unwrap()), seen);
    assert_eq!(get(&a.engine, &task).await, get(&b.engine, &task).await);
    at_rest(&a).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_without_a_lease_cannot_write() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 2 3").await;
    // The agent emits an event after the pause, before the node learns that its lease has expired.
    a.store.silence(true);
    assert_state(&rest_of(&b, &task).await, TaskState::Failed);
    nodes.open(3);
    at_rest(&a).await;
    let task = get(&a.engine, &task).await;
    assert_state(&task, TaskState::Failed);
    assert_eq!(task.artifacts, []);
}

/// The task after its end.
async fn rest_of(node: &Node, task: &Task) -> Task {
    drop(rest(subscribe(&node.engine, task).await.unwrap()).await);
    get(&node.engine, task).await
}

#[tokio::test(start_paused = true)]
async fn a_task_created_during_the_loss_of_the_lease_is_settled() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    a.store.rejoin().await;
    // The task belongs to the new id of the node, and all turns of the old id are cut off.
    let task = begin(&a, "1").await;
    assert_state(&rest_of(&b, &task).await, TaskState::Failed);
    at_rest(&a).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_resumes_on_another_node() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    let waiting = waits_behind(&b, &task, "2 second?").await;
    a.store.cut_off(true);
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    nodes.open(8);
    let answer = within(waiting).await.unwrap().unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "second");
    assert_eq!(*nodes.epochs.lock().unwrap(), [1, 2, 2], "the first, the first again by whoever took over, the second");
}

/// The node does not know that it lost the task, and learns of the takeover from its next commit.
#[tokio::test(start_paused = true)]
async fn a_stored_message_is_not_forwarded_again() {
    let mut nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    nodes.limits.commit_retry = LEASE * 10;
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    a.store.set(|faults| faults.cut_off_by_commit = true);
    let (engine, request) = (a.engine.clone(), follow(&task, "2 second?"));
    let waiting = tokio::spawn(async move { send(&engine, request).await });
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    a.store.set(|faults| faults.cut_off_by_commit = false);
    a.store.cut_off(false);
    tokio::time::sleep(LEASE).await;
    nodes.open(8);
    let answer = within(waiting).await.unwrap().unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "second");
    let history = get(&b.engine, &task).await.history;
    let said: Vec<_> = history.iter().filter(|it| it.role == Role::User).map(Message::text).collect();
    assert_eq!(said, ["1 first?", "2 second?"]);
    assert_eq!(nodes.runs(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_creator_of_a_task_is_answered_after_a_takeover() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, _b) = nodes.two().await;
    let engine = a.engine.clone();
    let waiting = tokio::spawn(async move { send(&engine, SendMessageRequest::new(Message::user("1 2"))).await });
    nodes.open(1);
    within(async {
        while nodes.runs() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    a.store.cut_off(true);
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    nodes.open(8);
    a.store.cut_off(false);
    assert_state(&within(waiting).await.unwrap().unwrap(), TaskState::Completed);
    assert_eq!(nodes.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_its_own_turn_also_after_a_takeover() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    let request = SendStreamingMessageRequest(follow(&task, "2 second?"));
    let events = call(&b.engine, request).await.map(events).unwrap();
    a.store.cut_off(true);
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    nodes.open(8);
    let seen = summaries(&rest(events).await);
    assert_eq!(seen[seen.len() - 2..], ["artifact:2", "input-required"], "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_of_a_task_is_known_after_a_takeover() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    let waiting = waits_behind(&b, &task, "2").await;
    a.store.cut_off(true);
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    nodes.open(8);
    assert_state(&within(waiting).await.unwrap().unwrap(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_node_releases_its_tasks_at_once() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 2").await;
    let there = subscribe(&b.engine, &task).await.unwrap();
    let begun = tokio::time::Instant::now();
    a.engine.shutdown(Duration::ZERO).await;
    nodes.open(2);
    assert_eq!(summaries(&rest(there).await).last().unwrap(), "completed");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(nodes.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn messages_of_all_nodes_are_accepted_once() {
    let nodes = Nodes::new();
    nodes.open(10_000);
    let (a, b) = nodes.two().await;
    let c = nodes.node().await;
    let task = send(&a.engine, SendMessageRequest::new(Message::user("go?"))).await.unwrap();
    let mut sent = Vec::new();
    for round in 0..30 {
        let requests = [&a, &b, &c].into_iter().enumerate().map(|(at, node)| {
            let text = format!("{round}.{at}?");
            sent.push(text.clone());
            send(&node.engine, follow(&task, &text))
        });
        for answer in futures_util::future::join_all(requests).await {
            assert_state(&answer.unwrap(), TaskState::InputRequired);
        }
    }
    let mut received: Vec<_> =
        history(&get(&b.engine, &task).await).into_iter().filter(|it| it.ends_with('?')).collect();
    received.remove(0);
    received.sort();
    sent.sort();
    assert_eq!(received, sent);
    assert_eq!(nodes.runs(), 1 + sent.len());
}

#[tokio::test(start_paused = true)]
async fn a_command_to_a_failed_node_is_not_lost() {
    let nodes = Nodes::new();
    nodes.resumes.store(true, Ordering::SeqCst);
    let (a, b) = nodes.two().await;
    let task = begin(&a, "1 first?").await;
    a.store.cut_off(true);
    let waiting = send(&b.engine, follow(&task, "2 second?"));
    let (answer, ()) = tokio::join!(waiting, async {
        tokio::time::sleep(LEASE * 2).await;
        nodes.open(8);
    });
    let answer = answer.unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "second");
    assert_eq!(history(&answer), ["1 first?", "2 second?", "first"]);
}
