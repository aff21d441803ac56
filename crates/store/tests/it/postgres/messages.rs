//! The retention of message ids, and the locks on their rows.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{
    TaskStore as _,
    store::{Commit, Erase, Purge, Remember},
};
use nuncio_model::{MessageId, Scope, TaskState, Timestamp};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::place::{Place, options};
use crate::support::{at, create, task};

/// Creates a task in this state that has received these messages.
fn taking(id: &str, state: TaskState, messages: &[String], since: Timestamp) -> Commit {
    let messages = messages.iter().map(|id| MessageId::from(id.as_str())).collect();
    Commit { remember: Some(Box::new(Remember { messages, since })), ..create(&task(id, state)) }
}

/// The stored message ids, in order.
async fn remembered(client: &Client) -> Vec<String> {
    let rows = client.query("SELECT message FROM messages ORDER BY message", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn deleting_a_task_deletes_its_message_ids() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    for (id, state) in [("old", TaskState::Completed), ("erased", TaskState::Working), ("kept", TaskState::Working)] {
        let messages = [format!("{id} 1"), format!("{id} 2")];
        store.commit(taking(id, state, &messages, at(0))).await.unwrap();
    }
    let purge = Purge { states: vec![TaskState::Completed], before: at(9), limit: 9, tenant: None, except: Vec::new() };
    assert_eq!(store.purge(&purge).await.unwrap(), 1);
    assert_eq!(remembered(&client).await, ["erased 1", "erased 2", "kept 1", "kept 2"]);
    assert_eq!(store.erase(&Erase::Task(Scope::open(), "erased".into())).await.unwrap(), 1);
    assert_eq!(remembered(&client).await, ["kept 1", "kept 2"]);
}

/// A later commit ends the retention of earlier message ids, and housekeeping soon deletes their rows.
#[tokio::test]
async fn expired_message_ids_are_deleted() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    let since = Timestamp::now();
    let old: Vec<String> = (0..3_000).map(|number| format!("old {number}")).collect();
    store.commit(taking("old", TaskState::Working, &old, at(0))).await.unwrap();
    let hour = Duration::from_hours(1).as_millis();
    client
        .execute("UPDATE messages SET at = at - $1::int8 WHERE message <> 'old 7'", &[&i64::try_from(hour).unwrap()])
        .await
        .unwrap();
    store.commit(taking("new", TaskState::Working, &["new".to_owned()], since)).await.unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while remembered(&client).await.len() > 2 {
        assert!(Instant::now() < deadline, "{} are still there", remembered(&client).await.len());
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(remembered(&client).await, ["new", "old 7"]);
}

/// Also if an earlier call with a clock that was ahead allowed the deletion of later message ids.
#[tokio::test]
async fn a_clock_that_was_ahead_does_not_delete_new_message_ids() {
    let place = Place::new();
    let (store, client) = (place.open(options()).await, place.client().await);
    let ahead = Timestamp::from_millisecond(Timestamp::now().as_millisecond() + 3_600_000).unwrap();
    store.forget_messages(ahead).await.unwrap();
    store.commit(taking("t", TaskState::Working, &["m".to_owned()], at(0))).await.unwrap();
    for _ in 0..2 {
        // The same round deletes these commands, after the message ids.
        let command = "INSERT INTO commands (id, task, tenant, caller, body, enqueued_at) \
            VALUES ('old', 'none', '', '', '', clock_timestamp() - interval '25 hours')";
        client.batch_execute(command).await.unwrap();
        store.forget_messages(at(0)).await.unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while !client.query("SELECT 1 FROM commands", &[]).await.unwrap().is_empty() {
            assert!(Instant::now() < deadline, "housekeeping did not run");
            sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(remembered(&client).await, ["m"]);
}

/// The commits of two nodes and the deletion of tasks lock the rows of messages in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_and_deletions_of_message_ids_do_not_deadlock() {
    let place = Place::new();
    let nodes = [Arc::new(place.open(options()).await), Arc::new(place.open(options()).await)];
    for round in 0..20 {
        let over = Timestamp::from_millisecond(Timestamp::now().as_millisecond() + 60_000).unwrap();
        let many = (0..100).map(|number| {
            let (node, place) = (Arc::clone(&nodes[number % 2]), number % 2);
            let of = if place == 0 { number } else { 99 - number };
            // Expired message ids are moved from another task, which locks their existing rows.
            let commit = taking(&format!("{round} {number:02}"), TaskState::Completed, &[format!("{of:02}")], over);
            tokio::spawn(async move { node.commit(commit).await })
        });
        let many: Vec<_> = many.collect();
        let purge =
            Purge { states: vec![TaskState::Completed], before: at(9), limit: 50, tenant: None, except: Vec::new() };
        nodes[round % 2].purge(&purge).await.unwrap();
        for one in many {
            one.await.unwrap().unwrap();
        }
    }
    let client = place.client().await;
    // The server publishes the counters of a session when the session ends, or after a while.
    for node in nodes {
        node.close().await.unwrap();
    }
    until_alone(&client).await;
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// Waits until this connection is the only connection.
async fn until_alone(client: &Client) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(Instant::now() < deadline, "the connections of the nodes are still open");
        sleep(Duration::from_millis(20)).await;
    }
}
