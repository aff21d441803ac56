//! The server dies, stands still or cannot be reached: what was acknowledged is there, nothing is there twice, every
//! call ends in its time, and the store comes back by itself.

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

const PATIENCE: Duration = Duration::from_mins(1);

/// Short times, so that a test need not wait for long ones.
pub(super) fn quick() -> PostgresOptions {
    let second = Duration::from_secs(1);
    options().with_patience(second).with_connect_timeout(second).with_timeouts(second, second * 3 / 2)
}

/// A server of the test's own, and a database in it.
fn own_server() -> (Postgres, Place) {
    let server = Postgres::start(nuncio_testbed::PostgresOptions::new()).unwrap();
    let place = Place::on(&server);
    (server, place)
}

/// Writers that append to a task each, as runners do: a commit that fails is said again and looked up.
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

    /// Waits until so many more commits were acknowledged.
    pub(super) async fn until_more(&self, more: usize) {
        let wanted = self.commits.load(Ordering::SeqCst) + more;
        within(|| async { self.commits.load(Ordering::SeqCst) >= wanted }).await;
    }

    pub(super) async fn until_failing(&self) {
        let before = self.failures.load(Ordering::SeqCst);
        within(|| async { self.failures.load(Ordering::SeqCst) > before }).await;
    }

    /// Stops them, and holds what is stored against what was acknowledged: record for record.
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

    /// Says a commit until it is known to be written.
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
                // It was written, and the answer was lost: nobody else writes under this epoch.
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
            assert!(begun.elapsed() < PATIENCE, "the store does not come back");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits for something, but not for ever.
pub(super) async fn within<F: Future<Output = bool>>(is_so: impl Fn() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_in_the_middle_of_commits_loses_and_doubles_nothing() {
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
async fn a_server_that_stands_still_holds_nobody_for_longer_than_a_call_may_take() {
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
async fn connections_that_are_cut_or_lose_their_answers_lose_and_double_nothing() {
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

/// A commit whose answer never came is still on its way when the next connection is made: it is ended first, so what is
/// read then stays so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_was_given_up_does_not_come_later() {
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

/// The other end of a connection may be there and say nothing for ever. The lease must not hang on it, although an
/// answer may take longer than a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_over_another_connection_when_its_own_says_nothing() {
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
        assert_eq!(failures, 1, "one renewal finds out");
        assert!(renewed.elapsed() < lease / 2, "{:?}", renewed.elapsed());
    }
}
