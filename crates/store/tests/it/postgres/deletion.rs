//! Deleting many tasks, large tasks, and tasks that nodes write to. A deletion completes, does not block other work,
//! and leaves no data.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_engine::{
    StoreError, TaskStore,
    store::{Erase, Purge, PushConfig},
};
use nuncio_model::{Principal, Scope, TaskId, TaskPushNotificationConfig, TaskState, Timestamp};
use nuncio_store::PostgresStore;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use super::place::{Place, SLOW, options};
use crate::support::{at, chunk, create, task};

/// SQL that creates one task per caller, for `callers` callers of each of `tenants` tenants.
fn of_callers(tenants: u32, callers: u32) -> String {
    format!(
        "INSERT INTO tasks (id, tenant, caller, context, sequence, epoch, updated, released, updated_rest, state, \
            state_before, pushed) \
         SELECT t || '/' || c, 't' || t, '=' || c, 'x', 2, 1, 1, 1, 0, 3, 3, false \
         FROM generate_series(1, {tenants}) AS t, generate_series(1, {callers}) AS c; \
         INSERT INTO bodies SELECT id, 2, '{{}}' FROM tasks; \
         INSERT INTO events SELECT id, last, '[]' FROM tasks, generate_series(1, 2) AS last; \
         INSERT INTO totals SELECT tenant, caller, 3, 1 FROM tasks"
    )
}

async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
}

async fn assert_empty(client: &Client) {
    for table in ["tasks", "bodies", "events", "totals", "push_configs", "commands", "messages", "deleted"] {
        assert_eq!(count(client, table).await, 0, "{table}");
    }
}

fn old() -> Purge {
    Purge { limit: 10_000, ..Purge::new([TaskState::Completed, TaskState::Failed], at(0)) }
}

#[tokio::test]
async fn one_purge_deletes_the_tasks_of_many_callers() {
    let place = Place::new();
    let (store, client) =
        (place.open(options().with_log_retention(Duration::from_hours(1))).await, place.client().await);
    client.batch_execute(&of_callers(3, 700)).await.unwrap();
    let of_one = Purge { tenant: Some("t2".into()), ..old() };
    assert_eq!(store.purge(&Purge { limit: 10, ..of_one.clone() }).await.unwrap(), 10);
    assert_eq!(store.purge(&of_one).await.unwrap(), 690);
    let but_one = Purge { except: vec!["t1".into()], ..old() };
    assert_eq!(store.purge(&but_one).await.unwrap(), 700);
    assert_eq!((count(&client, "tasks").await, count(&client, "totals").await), (700, 700));
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
    assert_eq!(store.purge(&old()).await.unwrap(), 700);
    assert_empty(&client).await;
}

/// One statement cannot delete all records of a step within the statement timeout.
#[tokio::test]
async fn tasks_with_many_records_are_deleted() {
    let second = Duration::from_secs(1);
    for erases in [false, true] {
        let place = Place::new();
        let options = options().with_log_retention(Duration::from_hours(1)).with_timeouts(second, second * 5);
        let (store, client) = (place.open(options).await, place.client().await);
        client.batch_execute(&of_callers(1, 20)).await.unwrap();
        let long = "UPDATE tasks SET sequence = 300; \
                    INSERT INTO events SELECT id, last, '[]' FROM tasks, generate_series(3, 300) AS last";
        client.batch_execute(long).await.unwrap();
        client.batch_execute(SLOW).await.unwrap();
        let gone = if erases { store.erase(&Erase::Tenant("t1".into())).await } else { store.purge(&old()).await };
        assert_eq!(gone.unwrap(), 20);
        assert_empty(&client).await;
    }
}

fn config(task: &str) -> PushConfig {
    let config = TaskPushNotificationConfig {
        id: Some("p".into()),
        task_id: Some(task.into()),
        url: "https://example.org/".into(),
        token: Some("secret".into()),
        ..Default::default()
    };
    PushConfig { config, format: None, delivered: u64::MAX >> 1 }
}

/// A remaining webhook would keep its credentials in the database forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_registered_during_the_deletion_of_its_task_is_deleted() {
    let place = Place::new();
    let store = Arc::new(place.open(options()).await);
    let other = Arc::new(place.open(options()).await);
    let before = Timestamp::from_millisecond(at(0).as_millisecond() + 1).unwrap();
    let purge = Purge { before, ..old() };
    for round in 0..10 {
        let ids: Vec<String> = (0..20).map(|number| format!("{round}.{number}")).collect();
        for id in &ids {
            store.commit(create(&task(id, TaskState::Completed))).await.unwrap();
        }
        let mut registers = JoinSet::new();
        for id in &ids {
            let (other, config) = (Arc::clone(&other), config(id));
            registers.spawn(async move { other.put_push_config(&Scope::open(), config).await.unwrap() });
        }
        let purged = store.purge(&purge).await.unwrap();
        registers.join_all().await;
        // A task that was just written to stays until the next purge.
        assert_eq!(purged + store.purge(&purge).await.unwrap(), 20);
        assert_eq!(store.verify().await.unwrap(), [""; 0]);
    }
    let client = place.client().await;
    assert_eq!(count(&client, "push_configs").await, 0);
}

#[tokio::test]
async fn no_row_contains_the_name_of_an_erased_caller() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    let (ann, ben) = (Scope::new("t".into(), Principal::named("ann")), Scope::new("t".into(), Principal::named("ben")));
    for (scope, id) in [(&ann, "a"), (&ann, "b"), (&ben, "c")] {
        let mut commit = create(&task(id, TaskState::Working));
        commit.scope = scope.clone();
        store.commit(commit).await.unwrap();
    }
    assert_eq!(store.erase(&Erase::Task(ann.clone(), "a".into())).await.unwrap(), 1);
    assert_eq!(store.erase(&Erase::Scope(ann)).await.unwrap(), 1);
    let named = "SELECT count(*) FROM totals WHERE caller = '=ann'";
    assert_eq!(client.query_one(named, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert_eq!(store.count().await.unwrap(), 1);
    assert_eq!(store.erase(&Erase::Tenant("t".into())).await.unwrap(), 1);
    assert_empty(&client).await;
}

/// Appends to the tasks of a scope in groups, until the tasks are deleted.
async fn write(node: Arc<PostgresStore>, ids: Vec<TaskId>, stop: Arc<AtomicBool>) {
    let mut sequence = 1;
    while !stop.load(Ordering::SeqCst) {
        let commits = ids.iter().map(|id| node.commit(chunk(id.as_str(), sequence, 1, "x")));
        for outcome in futures_util::future::join_all(commits).await {
            assert!(matches!(outcome, Ok(_) | Err(StoreError::Conflict)), "{outcome:?}");
        }
        sequence += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_and_writing_nodes_do_not_deadlock() {
    let place = Place::new();
    // A high time limit, because a loaded machine is slow and this test does not measure time.
    let options = || options().with_wait_timeout(Duration::from_mins(1));
    let nodes = [Arc::new(place.open(options()).await), Arc::new(place.open(options()).await)];
    for round in 0..3 {
        let stop = Arc::<AtomicBool>::default();
        let mut writers = JoinSet::new();
        for (at, node) in nodes.iter().enumerate() {
            let mut ids = Vec::new();
            // The order of the rows in the table differs from the order of the ids.
            for number in (0..200).rev() {
                let id = format!("{round}.{at}.{}", number * 7919 % 200);
                node.commit(create(&task(&id, TaskState::Working))).await.unwrap();
                ids.push(TaskId::from(id));
            }
            writers.spawn(write(Arc::clone(node), ids, Arc::clone(&stop)));
        }
        assert_eq!(nodes[0].erase(&Erase::Scope(Scope::open())).await.unwrap(), 400);
        stop.store(true, Ordering::SeqCst);
        writers.join_all().await;
        assert_eq!(nodes[0].verify().await.unwrap(), [""; 0]);
    }
    let client = place.client().await;
    assert_empty(&client).await;
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
}
