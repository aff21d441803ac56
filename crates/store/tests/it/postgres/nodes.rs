//! Several nodes, in addition to the contract of clusters.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{
    TaskStore,
    store::{Claim, Command, CommandId, Enqueued, Lease, PushConfig, PushSettlement},
};
use nuncio_model::{Scope, TaskPushNotificationConfig, TaskState, Timestamp};
use nuncio_store::{PostgresOptions, PostgresStore};
use tokio::time::{Instant, sleep};

use super::place::{Place, options};
use crate::support::{chunk, create, task};

fn later(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(Timestamp::now().as_millisecond() + seconds * 1_000).unwrap()
}

async fn due(node: &PostgresStore) -> usize {
    node.due_pushes(later(10), 10).await.unwrap().len()
}

fn settlement(delivered: u64, attempts: u32, next_attempt: Timestamp) -> PushSettlement {
    PushSettlement {
        scope: Scope::open(),
        task: "t".into(),
        id: "p".into(),
        delivered,
        attempts,
        next_attempt,
        error: None,
    }
}

/// A node with a task that has a pending delivery, and another node.
async fn with_a_pending_push(place: &Place) -> (PostgresStore, PostgresStore) {
    with_a_pending_push_on(place, options()).await
}

async fn with_a_pending_push_on(place: &Place, options: PostgresOptions) -> (PostgresStore, PostgresStore) {
    let (a, b) = (place.open(options.clone()).await, place.open(options).await);
    let mut commit = create(&task("t", TaskState::Working));
    commit.push_configs.push(webhook());
    a.commit(commit).await.unwrap();
    (a, b)
}

/// A push configuration for which every record is pending.
fn webhook() -> PushConfig {
    let config = TaskPushNotificationConfig {
        id: Some("p".into()),
        task_id: Some("t".into()),
        url: "https://example.org/".into(),
        ..Default::default()
    };
    PushConfig { config, format: None, delivered: 0 }
}

#[tokio::test]
async fn a_delivery_is_reserved_for_one_node_until_its_attempt_fails() {
    let place = Place::new();
    let (a, b) = with_a_pending_push(&place).await;
    assert_eq!((due(&a).await, due(&b).await), (1, 0));
    assert_eq!(due(&a).await, 1, "the delivery is still reserved for this node");
    let next = b.next_push().await.unwrap().unwrap();
    assert!(next > later(30), "the other node can wait until the reservation ends");
    a.settle_push(settlement(0, 1, Timestamp::now())).await.unwrap();
    assert_eq!((due(&b).await, due(&a).await), (1, 0));
    b.settle_push(settlement(1, 0, Timestamp::now())).await.unwrap();
    assert_eq!((due(&a).await, due(&b).await), (0, 0));
}

/// A node that was suspended during its own attempt and an attempt of another node reports its result late.
#[tokio::test]
async fn a_late_failure_after_the_end_of_the_reservation_is_ignored() {
    let place = Place::new();
    let options = options().with_push_claim(Duration::from_millis(50));
    let (a, b) = with_a_pending_push_on(&place, options).await;
    let failures = async |node: &PostgresStore| node.due_pushes(later(10), 10).await.unwrap()[0].attempts;
    assert_eq!(due(&a).await, 1);
    let is_over = async {
        while due(&b).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), is_over).await.unwrap();
    // While the delivery is reserved for the other node, and after the attempt of the other node has failed.
    a.settle_push(settlement(0, 7, later(3_600))).await.unwrap();
    assert_eq!(failures(&b).await, 0);
    b.settle_push(settlement(0, 1, Timestamp::now())).await.unwrap();
    a.settle_push(settlement(0, 7, later(3_600))).await.unwrap();
    assert_eq!(failures(&b).await, 1);
    // A late success is stored, whichever node reports it.
    a.settle_push(settlement(1, 0, Timestamp::now())).await.unwrap();
    assert_eq!((due(&a).await, due(&b).await), (0, 0));
}

#[tokio::test]
async fn a_failure_of_a_replaced_configuration_is_ignored() {
    let place = Place::new();
    let (a, _b) = with_a_pending_push(&place).await;
    assert_eq!(due(&a).await, 1);
    assert!(a.put_push_config(&Scope::open(), webhook()).await.unwrap());
    a.settle_push(settlement(0, 7, later(3_600))).await.unwrap();
    assert_eq!(a.due_pushes(later(10), 10).await.unwrap()[0].attempts, 0);
}

#[tokio::test]
async fn another_node_delivers_the_pushes_of_a_closed_node() {
    let place = Place::new();
    let (a, b) = with_a_pending_push(&place).await;
    assert_eq!((due(&a).await, due(&b).await), (1, 0));
    a.close().await.unwrap();
    assert_eq!(due(&b).await, 1);
}

#[tokio::test]
async fn another_node_delivers_a_push_whose_reservation_has_expired() {
    let place = Place::new();
    let (a, b) = with_a_pending_push(&place).await;
    assert_eq!((due(&a).await, due(&b).await), (1, 0));
    let sql = "UPDATE push_configs SET claimed_until = clock_timestamp()";
    place.client().await.batch_execute(sql).await.unwrap();
    assert_eq!((due(&b).await, due(&a).await), (1, 0));
}

/// Without this rule, the task would have an owner without a runner, and no other node could claim the task.
#[tokio::test]
async fn a_task_claimed_by_an_aborted_call_is_an_orphan() {
    let place = Place::new();
    let (a, b) = (Arc::new(place.open(options()).await), place.open(options()).await);
    a.commit(create(&task("t", TaskState::InputRequired))).await.unwrap();
    let other = place.client().await;
    other.batch_execute("BEGIN; SELECT 1 FROM tasks FOR UPDATE").await.unwrap();
    let claim = tokio::spawn({
        let a = Arc::clone(&a);
        async move { a.claim(&Scope::open(), &"t".into()).await.map(|_| ()) }
    });
    until_somebody_waits(&place).await;
    claim.abort();
    assert!(claim.await.unwrap_err().is_cancelled());
    other.batch_execute("COMMIT").await.unwrap();
    let holder = a.cluster().unwrap().node();
    // The server executes the claim of the first node first.
    let claimed = b.claim(&Scope::open(), &"t".into()).await.unwrap().unwrap();
    assert!(matches!(claimed, Claim::Held(node) if node == holder), "{claimed:?}");
    assert_eq!(a.orphans(10).await.unwrap().len(), 1);
    assert_eq!(b.orphans(10).await.unwrap(), []);
    // A later claim by the same node reports that the task may have been running.
    let claimed = a.claim(&Scope::open(), &"t".into()).await.unwrap();
    assert!(matches!(claimed, Some(Claim::Owned { abandoned: true, .. })), "{claimed:?}");
    assert_eq!(a.orphans(10).await.unwrap(), []);
}

/// Waits until a session waits for a lock of this database.
async fn until_somebody_waits(place: &Place) {
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let client = place.client().await;
    for _ in 0..1_000 {
        if client.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no session waits for a lock");
}

#[tokio::test]
async fn a_command_waits_for_a_commit_that_releases_the_task() {
    let place = Place::new();
    let (a, b) = (place.open(options()).await, Arc::new(place.open(options()).await));
    a.commit(create(&task("t", TaskState::Working))).await.unwrap();
    let other = place.client().await;
    other.batch_execute("BEGIN; UPDATE tasks SET owner = NULL").await.unwrap();
    let command =
        Command { id: CommandId::generate(), scope: Scope::open(), task: "t".into(), body: b"x".as_slice().into() };
    let enqueue = tokio::spawn({
        let (b, command) = (Arc::clone(&b), command.clone());
        async move { b.cluster().unwrap().enqueue(&command).await.unwrap() }
    });
    until_somebody_waits(&place).await;
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(enqueue.await.unwrap(), Enqueued::NoOwner);
    assert_eq!(b.cluster().unwrap().status(&command.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_node_with_an_expired_lease_accepts_no_work_until_it_renews() {
    let place = Place::new();
    let store = place.open(options()).await;
    store.commit(create(&task("parked", TaskState::InputRequired))).await.unwrap();
    place.end_leases().await;
    assert!(store.commit(create(&task("new", TaskState::Working))).await.is_err());
    assert!(store.claim(&Scope::open(), &"parked".into()).await.is_err());
    store.commit(create(&task("ended", TaskState::Completed))).await.unwrap();
    assert_eq!(store.cluster().unwrap().renew().await.unwrap(), Lease::Lost);
    store.commit(create(&task("new", TaskState::Working))).await.unwrap();
    assert!(store.claim(&Scope::open(), &"parked".into()).await.unwrap().is_some());
}

#[tokio::test]
async fn ids_can_contain_any_character() {
    let place = Place::new();
    let store = place.open(options()).await;
    for id in ["a\0b", "\u{1}", "\u{1}0", "🦀'\"\\"] {
        let mut task = task(id, TaskState::Working);
        task.context_id = Some(id.into());
        store.commit(create(&task)).await.unwrap();
        let stored = store.load(&Scope::open(), &id.into()).await.unwrap().unwrap();
        assert_eq!((stored.task.id.as_str(), stored.task.context_id.as_ref().unwrap().as_str()), (id, id));
    }
}

/// Many commands for one task must not delay the commits of its owner: each command and each commit gets the lock of
/// the head in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_do_not_block_the_commits_of_a_task() {
    let place = Place::new();
    let owner = place.open(options()).await;
    owner.commit(create(&task("t", TaskState::Working))).await.unwrap();
    let client = place.client().await;
    // The duration of a write to a disk.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN PERFORM pg_sleep(0.003); RETURN NULL; END $$; \
        CREATE TRIGGER slow AFTER INSERT ON commands FOR EACH ROW EXECUTE FUNCTION slow()";
    client.batch_execute(slow).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let node = Arc::new(place.open(options().with_connections(6)).await);
        for _ in 0..12 {
            let node = Arc::clone(&node);
            writers.spawn(async move {
                loop {
                    let id = CommandId::generate();
                    let command = Command { id, scope: Scope::open(), task: "t".into(), body: b"x".as_slice().into() };
                    node.cluster().unwrap().enqueue(&command).await.unwrap();
                }
            });
        }
    }
    let commands = async || client.query_one("SELECT count(*) FROM commands", &[]).await.unwrap().get::<_, i64>(0);
    let begun = Instant::now();
    for sequence in 1..20 {
        let before = commands().await;
        owner.commit(chunk("t", sequence, 1, "x")).await.unwrap();
        while commands().await < before + 20 {
            assert!(begun.elapsed() < Duration::from_mins(1), "no more commands come");
            sleep(Duration::from_millis(5)).await;
        }
    }
    writers.shutdown().await;
}
