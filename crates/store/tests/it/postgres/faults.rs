//! The server is killed, suspended or unreachable. Acknowledged data exists exactly once, every call ends within its
//! time limit, and the store works again afterwards.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use nuncio_engine::{
    Record, StoreError, TaskStore,
    store::{Commit, Lease, Portion},
};
use nuncio_model::{Scope, TaskState};
use nuncio_store::{PostgresOptions, PostgresStore};
use nuncio_testbed::{Postgres, Proxy, Server as _};
use tokio::task::JoinHandle;

use super::place::{Place, options};
use crate::support::{chunk, create, task};

const TIME_LIMIT: Duration = Duration::from_mins(1);

/// Short timeouts, so that the tests are fast.
pub(super) fn quick() -> PostgresOptions {
    let second = Duration::from_secs(1);
    options().with_wait_timeout(second).with_connect_timeout(second).with_timeouts(second, second * 3 / 2)
}

/// A server for one test, with a database.
fn own_server() -> (Postgres, Place) {
    let server = Postgres::start(nuncio_testbed::PostgresOptions::new()).unwrap();
    let place = Place::on(&server);
    (server, place)
}

/// Writers that append to one task each, like runners. A failed commit is repeated, and its result is looked up.
pub(super) struct Writers {
    stop: Arc<AtomicBool>,
    commits: Arc<AtomicUsize>,
    failures: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<(String, u64)>>,
}

impl Writers {
    pub(super) async fn start(store: &Arc<PostgresStore>, bound: Duration) -> Self {
        let (stop, commits, failures) = (Arc::<AtomicBool>::default(), Arc::default(), Arc::default());
        let mut tasks = Vec::new();
        for number in 0..8 {
            let id = format!("{number}");
            store.commit(create(&task(&id, TaskState::Working))).await.unwrap();
            let writer = Writer {
                store: Arc::clone(store),
                id,
                bound,
                commits: Arc::clone(&commits),
                failures: Arc::clone(&failures),
            };
            let stop = Arc::clone(&stop);
            tasks.push(tokio::spawn(async move { writer.run(&stop).await }));
        }
        Self { stop, commits, failures, tasks }
    }

    /// Waits until `more` further commits were acknowledged.
    pub(super) async fn until_more(&self, more: usize) {
        let wanted = self.commits.load(Ordering::SeqCst) + more;
        within(|| async { self.commits.load(Ordering::SeqCst) >= wanted }).await;
    }

    pub(super) async fn until_failing(&self) {
        let before = self.failures.load(Ordering::SeqCst);
        within(|| async { self.failures.load(Ordering::SeqCst) > before }).await;
    }

    /// Stops the writers and compares the stored records with the acknowledged records.
    pub(super) async fn check(self, store: &PostgresStore) {
        self.stop.store(true, Ordering::SeqCst);
        for writer in self.tasks {
            let (id, acknowledged) = writer.await.unwrap();
            let stored = store.load(&Scope::open(), &id.as_str().into()).await.unwrap().unwrap();
            assert_eq!(stored.sequence, acknowledged, "task {id}");
            let records = store
                .events_after(&Scope::open(), &id.as_str().into(), 1, Portion::records(usize::MAX >> 1))
                .await
                .unwrap();
            let texts: Vec<_> = records.iter().map(text).collect();
            let expected: Vec<_> = (1..acknowledged).map(|number| format!("{id}.{number}")).collect();
            assert_eq!(texts, expected);
        }
    }
}

fn text(record: &Record) -> String {
    match &record.as_update().unwrap().response {
        nuncio_model::StreamResponse::ArtifactUpdate(update) => update.artifact.text(),
        other => panic!("{other:?}"),
    }
}

struct Writer {
    store: Arc<PostgresStore>,
    id: String,
    bound: Duration,
    commits: Arc<AtomicUsize>,
    failures: Arc<AtomicUsize>,
}

impl Writer {
    async fn run(self, stop: &AtomicBool) -> (String, u64) {
        let mut sequence = 1;
        while !stop.load(Ordering::SeqCst) {
            let commit = chunk(&self.id, sequence, 1, &format!("{}.{sequence}", self.id));
            self.write(commit).await;
            sequence += 1;
            self.commits.fetch_add(1, Ordering::SeqCst);
        }
        (self.id, sequence)
    }

    /// Repeats a commit until its result is known.
    async fn write(&self, commit: Commit) {
        let begun = Instant::now();
        loop {
            let called = Instant::now();
            let outcome = self.store.commit(commit.clone()).await;
            assert!(called.elapsed() < self.bound, "a commit took {:?}", called.elapsed());
            match outcome {
                Ok(_) => return,
                Err(StoreError::Unavailable(_)) => {
                    self.failures.fetch_add(1, Ordering::SeqCst);
                }
                // The commit was written and its answer was lost, because no other node writes under this epoch.
                Err(StoreError::Conflict) => {
                    let stored = self.store.load(&commit.scope, &commit.id).await;
                    if let Ok(stored) = stored {
                        let stored = stored.unwrap();
                        assert_eq!((stored.sequence, stored.epoch), (commit.sequence(), commit.epoch));
                        return;
                    }
                }
                Err(error) => panic!("{error:?}"),
            }
            assert!(begun.elapsed() < TIME_LIMIT, "the store does not work again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits for a condition, with a time limit.
pub(super) async fn within<F: Future<Output = bool>>(is_so: impl Fn() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < TIME_LIMIT, "the condition does not become true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_the_server_during_commits_loses_and_duplicates_no_records() {
    let (server, place) = own_server();
    let store = Arc::new(place.open(quick()).await);
    let bound = quick().longest_call();
    let writers = Writers::start(&store, bound).await;
    for _ in 0..3 {
        writers.until_more(100).await;
        server.kill().unwrap();
        writers.until_failing().await;
        let called = Instant::now();
        assert!(matches!(store.load(&Scope::open(), &"0".into()).await, Err(StoreError::Unavailable(_))));
        assert!(matches!(store.check().await, Err(StoreError::Unavailable(_))));
        assert!(called.elapsed() < 2 * bound);
        server.restart().unwrap();
    }
    writers.until_more(100).await;
    within(|| async { store.check().await.is_ok() }).await;
    writers.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_a_suspended_server_end_within_the_longest_call_time() {
    let (server, place) = own_server();
    let store = Arc::new(place.open(quick()).await);
    let bound = quick().longest_call();
    let writers = Writers::start(&store, bound).await;
    writers.until_more(50).await;
    server.pause().unwrap();
    let cluster = store.cluster().unwrap();
    let calls = async {
        let (scope, ids) = (Scope::open(), ["0".into(), "1".into()]);
        let called = Instant::now();
        let (load, claim, check, renew) =
            tokio::join!(store.load(&scope, &ids[0]), store.claim(&scope, &ids[1]), store.check(), cluster.renew(),);
        for error in [load.err(), claim.err(), check.err(), renew.err()] {
            assert!(matches!(error, Some(StoreError::Unavailable(_))), "{error:?}");
        }
        called.elapsed()
    };
    let took = calls.await;
    assert!(took < bound, "a call took {took:?}");
    writers.until_failing().await;
    server.resume().unwrap();
    writers.until_more(100).await;
    writers.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_connections_lose_and_duplicate_no_records() {
    let server = Postgres::shared().unwrap();
    let place = Place::on(server);
    let proxy = Proxy::start(server.address()).unwrap();
    let store = Arc::new(PostgresStore::open(&place.url_by(&proxy), quick()).await.unwrap());
    let writers = Writers::start(&store, quick().longest_call()).await;
    for round in 0..4 {
        writers.until_more(50).await;
        match round {
            0 | 1 => proxy.cut(),
            2 => proxy.set(|faults| faults.loses_replies = true),
            _ => proxy.set(|faults| faults.holds = true),
        }
        if round > 1 {
            writers.until_failing().await;
            proxy.heal();
        }
    }
    writers.until_more(100).await;
    writers.check(&store).await;
}

/// The server is still executing the unanswered commit when the next connection is opened. The old connection is
/// terminated first, so that later reads stay valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_answer_does_not_take_effect_later() {
    let place = Place::new();
    let mut options = quick();
    (options.statement_timeout, options.lock_timeout) = (Duration::from_mins(1), Duration::from_mins(1));
    options.answer_timeout = Duration::from_millis(500);
    let store = place.open(options).await;
    let (scope, id) = (Scope::open(), "t".into());
    store.commit(create(&task("t", TaskState::Working))).await.unwrap();
    let other = place.client().await;
    other.batch_execute("BEGIN; SELECT 1 FROM tasks WHERE id = 't' FOR UPDATE").await.unwrap();
    let refused = store.commit(chunk("t", 1, 1, "late")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    let before = store.load(&scope, &id).await.unwrap().unwrap();
    assert_eq!(before.sequence, 1);
    other.batch_execute("COMMIT").await.unwrap();
    store.commit(chunk("t", 1, 1, "now")).await.unwrap();
    let records = store.events_after(&scope, &id, 1, Portion::records(10)).await.unwrap();
    assert_eq!(records.iter().map(text).collect::<Vec<_>>(), ["now"]);
}

/// A connection can stay unresponsive forever. The lease must not depend on such a connection, although the answer
/// timeout is longer than the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_over_a_new_connection_if_the_old_is_unresponsive() {
    let server = Postgres::shared().unwrap();
    let place = Place::on(server);
    let proxy = Proxy::start(server.address()).unwrap();
    let lease = Duration::from_secs(6);
    let store = PostgresStore::open(&place.url_by(&proxy), options().with_lease(lease)).await.unwrap();
    let cluster = store.cluster().unwrap();
    for _ in 0..2 {
        assert_eq!(cluster.renew().await.unwrap(), Lease::Kept);
        let renewed = Instant::now();
        proxy.stall();
        let mut failures = 0;
        while let Err(error) = cluster.renew().await {
            assert!(renewed.elapsed() < lease, "{error:?}");
            failures += 1;
        }
        assert_eq!(failures, 1, "only the first renewal fails");
        assert!(renewed.elapsed() < lease / 2, "{:?}", renewed.elapsed());
    }
}
