//! A node that cannot renew its lease stops its turns before other nodes run them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_engine::{
    Engine, EngineBuilder, EventBus, Idempotency, Limits, agent_fn,
    bus::{BusError, Subscription, Topic, Wake},
    store::Lease,
};
use nuncio_model::{ErrorKind, Message, Task, TaskState, op::SendMessageRequest};
use nuncio_suites::{MemoryNode, SharedMemory};
use tokio::time::{Instant, sleep};

use crate::support::*;

const LEASE: Duration = Duration::from_secs(12);

/// Counts the running turns.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn of(turns: &Arc<AtomicUsize>) -> Self {
        turns.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(turns))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Node {
    engine: Engine,
    store: Arc<MemoryNode>,
    turns: Arc<AtomicUsize>,
}

impl Node {
    /// A node with an agent that answers `now`, emits without end at `talk`, and is silent for all other messages.
    async fn of(memory: &SharedMemory, with: impl FnOnce(EngineBuilder) -> EngineBuilder) -> Self {
        let store = Arc::new(memory.node().await);
        let turns = Arc::<AtomicUsize>::default();
        let agent = agent_fn({
            let turns = Arc::clone(&turns);
            move |turn| {
                let under_way = UnderWay::of(&turns);
                async move {
                    turn.begin().await?;
                    let mut artifact = turn.artifact("out");
                    while turn.message().text() == "talk" {
                        artifact.chunk("x").await?;
                        sleep(LEASE / 24).await;
                    }
                    if turn.message().text() != "now" {
                        std::future::pending::<()>().await;
                    }
                    drop(under_way);
                    turn.complete("done").await
                }
            }
        });
        let engine = with(Engine::builder(agent).store(Arc::clone(&store) as _)).build();
        engine.recover().await.unwrap();
        Self { engine, store, turns }
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

async fn until(is_so: impl Fn() -> bool) {
    within(async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// The store refuses, or does not answer.
#[tokio::test(start_paused = true)]
async fn a_turn_is_cut_off_when_the_lease_is_over_by_the_nodes_own_clock() {
    for away in [MemoryNode::cut_off, MemoryNode::stall] {
        let memory = SharedMemory::new(LEASE);
        let (a, b) = (Node::of(&memory, |it| it).await, Node::of(&memory, |it| it).await);
        let task = send(&a.engine, at_once(Message::user("work"))).await.unwrap();
        sleep(LEASE * 3).await;
        assert_eq!(a.turns(), 1);
        away(&a.store, true);
        let began = Instant::now();
        until(|| a.turns() == 0).await;
        let took = began.elapsed();
        assert!(took <= LEASE + Duration::from_millis(10), "{took:?}");
        assert!(took >= LEASE / 2, "a lease that goes on is used: {took:?}");
        assert_ne!(get(&b.engine, &task).await.status.state, TaskState::Completed);
        sleep(LEASE).await;
        assert_state(&get(&b.engine, &task).await, TaskState::Failed);
    }
}

/// Waits this time, and checks that no record is stored meanwhile.
async fn assert_is_held_up(engine: &Engine, task: &Task, time: Duration) {
    let length = async || get(engine, task).await.artifacts[0].parts.len();
    let before = length().await;
    sleep(time).await;
    assert_eq!(length().await, before, "the turn is held up");
}

/// If the store does not answer, the turn ends with the lease.
async fn assert_is_cut_off(node: &Node) {
    assert_eq!(node.turns(), 1);
    node.store.stall(true);
    let began = Instant::now();
    until(|| node.turns() == 0).await;
    let took = began.elapsed();
    assert!(took <= LEASE + Duration::from_millis(10), "{took:?}");
}

/// An event of the turn cannot be written, or waits for a slow reader.
#[tokio::test(start_paused = true)]
async fn a_turn_waiting_for_its_commit_is_cut_off_with_the_lease() {
    for is_read in [false, true] {
        let memory = SharedMemory::new(LEASE);
        let mut limits = Limits::default();
        (limits.commit_retry, limits.slow_reader, limits.window) = (LEASE * 100, LEASE * 100, 8);
        let a = Node::of(&memory, |it| it.limits(limits)).await;
        let task = send(&a.engine, at_once(Message::user("talk"))).await.unwrap();
        let unread = if is_read { Some(subscribe(&a.engine, &task).await.unwrap()) } else { None };
        a.store.set(|faults| faults.refuses_commits = !is_read);
        sleep(LEASE * 3).await;
        assert_is_held_up(&a.engine, &task, LEASE).await;
        assert_is_cut_off(&a).await;
        drop(unread);
    }
}

/// The node checks whether the message of a command is a duplicate.
#[tokio::test(start_paused = true)]
async fn a_turn_waiting_for_deduplication_is_cut_off_with_the_lease() {
    let memory = SharedMemory::new(LEASE);
    let known = Idempotency::Within(LEASE * 100);
    let a = Node::of(&memory, |it| it.idempotency(known)).await;
    let b = Node::of(&memory, |it| it.idempotency(known)).await;
    let task = send(&a.engine, at_once(Message::user("talk"))).await.unwrap();
    a.store.set(|faults| faults.hangs_at_messages = true);
    let sent = tokio::spawn({
        let (engine, request) = (b.engine.clone(), at_once(follow(&task, "more").message));
        async move { send(&engine, request).await }
    });
    sleep(Duration::from_secs(2)).await;
    assert_is_held_up(&b.engine, &task, Duration::from_secs(2)).await;
    assert_is_cut_off(&a).await;
    sent.abort();
}

#[tokio::test(start_paused = true)]
async fn no_turn_begins_on_a_node_without_a_lease() {
    let memory = SharedMemory::new(LEASE);
    let a = Node::of(&memory, |it| it).await;
    let now = || SendMessageRequest::new(Message::user("now"));
    send(&a.engine, now()).await.unwrap();
    a.store.stall(true);
    sleep(LEASE * 2).await;
    let error = send(&a.engine, now()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    a.store.stall(false);
    sleep(Duration::from_millis(10)).await;
    assert_state(&send(&a.engine, now()).await.unwrap(), TaskState::Completed);
}

/// A bus that delivers nothing.
struct Deaf;

#[async_trait::async_trait]
impl EventBus for Deaf {
    fn publish(&self, _: Topic, _: Wake) {}

    async fn subscribe(&self, _: Topic) -> Result<Box<dyn Subscription>, BusError> {
        std::future::pending().await
    }

    async fn check(&self) -> Result<(), BusError> {
        Ok(())
    }

    async fn close(&self, _: Duration) {}
}

#[tokio::test(start_paused = true)]
async fn the_lease_does_not_wait_for_the_bus() {
    let memory = SharedMemory::new(LEASE);
    let a = Node::of(&memory, |it| it.bus(Arc::new(Deaf))).await;
    sleep(LEASE * 3).await;
    assert_eq!(a.engine.store().cluster().unwrap().renew().await.unwrap(), Lease::Kept);
}
