//! Webhooks that are registered during a commit.

use std::time::Duration;

use nuncio_engine::{TaskStore as _, store::PushConfig};
use nuncio_model::{Scope, TaskPushNotificationConfig, TaskState, Timestamp};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::place::{Place, options};
use crate::support::{chunk, create, task};

const MINUTE: Duration = Duration::from_mins(1);

/// Waits until exactly `expected` statements wait for a lock.
async fn until_wait(client: &Client, expected: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let deadline = Instant::now() + MINUTE;
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) != expected {
        assert!(Instant::now() < deadline, "there are not {expected} statements that wait for a lock");
        sleep(Duration::from_millis(5)).await;
    }
}

/// The commit starts before the registration is stored and is executed after it, because the registration is first in
/// the queue for the lock of the head.
#[tokio::test]
async fn a_commit_that_waited_for_a_registration_is_delivered_to_the_new_webhook() {
    let place = Place::new();
    let (client, other) = (place.client().await, place.client().await);
    let store = place.open(options().with_timeouts(MINUTE, MINUTE).with_lock_timeout(MINUTE)).await;
    store.commit(create(&task("t", TaskState::Working))).await.unwrap();
    for (id, sequence) in [("first", 1), ("second", 2)] {
        other.batch_execute("BEGIN; SELECT 1 FROM tasks FOR UPDATE").await.unwrap();
        let config = TaskPushNotificationConfig {
            id: Some(id.into()),
            task_id: Some("t".into()),
            url: "https://example.org/".into(),
            ..Default::default()
        };
        let scope = Scope::open();
        let put = store.put_push_config(&scope, PushConfig { config, format: None, delivered: u64::MAX });
        let commit = async {
            until_wait(&client, 1).await;
            store.commit(chunk("t", sequence, 1, "x")).await
        };
        let freed = async {
            until_wait(&client, 2).await;
            other.batch_execute("COMMIT").await.unwrap();
        };
        let (is_put, committed, ()) = tokio::join!(put, commit, freed);
        assert!(is_put.unwrap());
        assert!(committed.unwrap().has_pending_push, "{id}");
        let due = store.due_pushes(Timestamp::now(), 10).await.unwrap();
        let due = due.iter().find(|it| it.config.id == Some(id.into())).map(|it| (it.delivered, it.pending));
        assert_eq!(due, Some((sequence, sequence + 1)), "{id}");
    }
}
