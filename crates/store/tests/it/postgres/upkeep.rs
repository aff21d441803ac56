//! Periodic housekeeping, as visible in the tables. It completes for any amount of data, and a failing step does not
//! block the other steps.

use std::time::Duration;

use nuncio_engine::{
    StoreError, TaskStore as _,
    store::{Command, CommandId},
};
use nuncio_model::{Principal, Scope, TaskState, Timestamp};
use nuncio_store::PostgresStore;
use nuncio_testbed::{Postgres, Proxy, Server as _};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::{
    faults::quick,
    place::{Place, SLOW, options},
};
use crate::support::{create, task};

async fn count(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Waits until a query counts no rows.
async fn until_none(client: &Client, sql: &str) {
    until(client, sql, |count| count == 0).await;
}

async fn until(client: &Client, sql: &str, is_so: impl Fn(i64) -> bool) {
    let deadline = Instant::now() + Duration::from_mins(3);
    while !is_so(count(client, sql).await) {
        assert!(Instant::now() < deadline, "{} still: {sql}", count(client, sql).await);
        sleep(Duration::from_millis(50)).await;
    }
}

/// One statement cannot delete many long logs within the statement timeout.
#[tokio::test]
async fn logs_of_any_length_are_deleted() {
    let place = Place::new();
    let keeps = place.open(options().with_log_retention(Duration::from_hours(1))).await;
    for number in 0..20 {
        keeps.commit(create(&task(&format!("{number}"), TaskState::Completed))).await.unwrap();
    }
    keeps.close().await.unwrap();
    drop(keeps);
    let client = place.client().await;
    let long = "UPDATE tasks SET sequence = 300, released = 1; UPDATE bodies SET folded = 300; \
                INSERT INTO events SELECT id, last, '[]' FROM tasks, generate_series(1, 300) AS last";
    client.batch_execute(long).await.unwrap();
    assert_eq!(count(&client, "SELECT count(*) FROM events").await, 6_000);
    client.batch_execute(SLOW).await.unwrap();
    let second = Duration::from_secs(1);
    let store = place.open(options().with_log_retention(Duration::ZERO).with_timeouts(second, second * 5)).await;
    until_none(&client, "SELECT count(*) FROM events").await;
    until_none(&client, "SELECT count(*) FROM tasks WHERE released IS NOT NULL").await;
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
}

const OLD_COMMAND: &str = "INSERT INTO commands (id, task, tenant, caller, body, enqueued_at) \
    VALUES ('old', 'none', '', '', '', clock_timestamp() - interval '25 hours')";

#[tokio::test]
async fn a_failing_step_does_not_block_the_other_steps() {
    let place = Place::new();
    let (_store, client) = (place.open(options()).await, place.client().await);
    for breaks in [None, Some("ALTER TABLE bodies RENAME TO hidden")] {
        client.batch_execute(breaks.unwrap_or_default()).await.unwrap();
        client.batch_execute(OLD_COMMAND).await.unwrap();
        until_none(&client, "SELECT count(*) FROM commands").await;
    }
}

/// The turn of the message has no time limit, and a caller waits for the turn.
#[tokio::test]
async fn a_command_is_kept_while_its_task_is_running() {
    let place = Place::new();
    let (a, b) = (place.open(options()).await, place.open(options()).await);
    for id in ["at work", "at rest"] {
        a.commit(create(&task(id, TaskState::Working))).await.unwrap();
        let command =
            Command { id: CommandId(id.into()), scope: Scope::open(), task: id.into(), body: b"x".as_slice().into() };
        b.cluster().unwrap().enqueue(&command).await.unwrap();
    }
    let client = place.client().await;
    let sql = "UPDATE tasks SET owner = NULL, state = 6 WHERE id = 'at rest'; \
               UPDATE commands SET acked = 2, enqueued_at = clock_timestamp() - interval '25 hours'";
    client.batch_execute(sql).await.unwrap();
    until_none(&client, "SELECT count(*) FROM commands WHERE id = 'at rest'").await;
    assert!(b.cluster().unwrap().status(&CommandId("at work".into())).await.unwrap().is_some());
}

#[tokio::test]
async fn the_totals_of_a_busy_scope_are_summed_up() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    for number in 0..200 {
        store.commit(create(&task(&format!("{number}"), TaskState::Completed))).await.unwrap();
    }
    until(&client, "SELECT count(*) FROM totals", |rows| rows < 40).await;
    assert_eq!(store.count().await.unwrap(), 200);
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
}

/// The state after a node ends in the middle of a step.
#[tokio::test]
async fn totals_of_a_caller_without_tasks_are_deleted() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    let mut commit = create(&task("t", TaskState::Completed));
    commit.scope = Scope::new("tenant".into(), Principal::named("kept"));
    store.commit(commit).await.unwrap();
    let rows = "INSERT INTO totals VALUES ('tenant', '=gone', 3, 1), ('tenant', '=gone', 3, -1)";
    client.batch_execute(rows).await.unwrap();
    until_none(&client, "SELECT count(*) FROM totals WHERE caller = '=gone'").await;
    assert_eq!(count(&client, "SELECT count(*) FROM totals").await, 1);
}

#[tokio::test]
async fn remaining_records_are_deleted_before_their_task_id_is_used_again() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    let left = "INSERT INTO deleted VALUES ('t'); \
                INSERT INTO events SELECT 't', last, '[]' FROM generate_series(1, 12000) AS last";
    let other = place.client().await;
    loop {
        // Repeats until this transaction locks the row before housekeeping deletes it.
        client.batch_execute(left).await.unwrap();
        other.batch_execute("BEGIN").await.unwrap();
        if other.query("SELECT 1 FROM deleted FOR UPDATE", &[]).await.unwrap().len() == 1 {
            break;
        }
        other.batch_execute("ROLLBACK").await.unwrap();
    }
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
    let refused = store.commit(create(&task("t", TaskState::Completed))).await;
    assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
    assert!(store.load(&Scope::open(), &"t".into()).await.unwrap().is_none());
    other.batch_execute("COMMIT").await.unwrap();
    until_none(&client, "SELECT count(*) FROM deleted").await;
    assert_eq!(count(&client, "SELECT count(*) FROM events").await, 0);
    store.commit(create(&task("t", TaskState::Completed))).await.unwrap();
}

/// The server reports the time. Without the server, the time is unknown: by a node's own clock, all data might be old.
#[tokio::test]
async fn the_time_is_the_time_of_the_server() {
    let place = Place::on(Postgres::shared().unwrap());
    let proxy = Proxy::start(Postgres::shared().unwrap().address()).unwrap();
    let store = PostgresStore::open(&place.url_by(&proxy), quick()).await.unwrap();
    let (begun, now, done) = (Timestamp::now(), store.now().await.unwrap(), Timestamp::now());
    // The time is rounded.
    assert!((begun.as_millisecond()..=done.as_millisecond() + 1).contains(&now.as_millisecond()), "{now:?}");
    proxy.set(|faults| faults.holds = true);
    assert!(matches!(store.now().await, Err(StoreError::Unavailable(_))));
}
