//! The files contain no deleted data.

use nuncio_engine::{
    TaskStore,
    store::{Commit, Erase, Purge, PushConfig},
};
use nuncio_model::{
    Artifact, AuthenticationInfo, Message, Part, Principal, Scope, TaskPushNotificationConfig, TaskState,
};
use nuncio_store::{SqliteOptions, SqliteStore};
use std::time::Duration;

use crate::support::{Place, at, begin, chunk, create, end, load, task};

/// A text that no other data contains.
const MARKER: &str = "Zyzzogeton";

/// The number of occurrences of the marker in the files of the database.
fn found(place: &Place) -> usize {
    let files = std::fs::read_dir(place.path().parent().unwrap()).unwrap();
    let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    bytes.map(|bytes| bytes.windows(MARKER.len()).filter(|it| *it == MARKER.as_bytes()).count()).sum()
}

/// Writes the marker into all kinds of data: names, ids, small and large bodies, records, webhooks.
async fn mark(store: &SqliteStore) -> Scope {
    let scope = Scope::new("tenant".into(), Principal::named(format!("{MARKER} the caller")));
    for (number, size) in [1, 50, 3_000, 200_000].into_iter().enumerate() {
        let id = format!("{MARKER}-{number}");
        let mut marked = task(&id, TaskState::Working);
        marked.context_id = Some(MARKER.into());
        marked.history.push(Message { message_id: "n".into(), ..Message::user(MARKER) });
        marked.artifacts.push(Artifact::new("a", vec![Part::text(format!("{MARKER} ").repeat(size))]));
        let config = TaskPushNotificationConfig {
            id: Some("p".into()),
            task_id: Some(id.clone().into()),
            url: format!("https://example.org/{MARKER}"),
            authentication: Some(AuthenticationInfo { scheme: "Bearer".into(), credentials: Some(MARKER.into()) }),
            ..Default::default()
        };
        let mut commit = create(&marked);
        commit.scope = scope.clone();
        commit.push_configs.push(PushConfig { config, format: None, delivered: 0 });
        let epoch = store.commit(commit).await.unwrap().epoch;
        for number in 1..400 {
            let mut commit = chunk(&id, number, epoch, &format!("{MARKER} {number}"));
            commit.scope = scope.clone();
            store.commit(commit).await.unwrap();
        }
    }
    scope
}

#[tokio::test]
async fn no_file_contains_erased_data() {
    let place = Place::new();
    let store = place.open().await;
    for number in 0..50 {
        begin(&store, &format!("before {number}")).await;
    }
    let scope = mark(&store).await;
    begin(&store, "after").await;
    assert!(found(&place) > 1_000);
    assert_eq!(store.erase(&Erase::Scope(scope)).await.unwrap(), 4);
    assert_eq!(found(&place), 0);
    load(&store, "after").await;
    load(&store, "before 49").await;
}

/// Another program blocks the writer until the commit and the erasure are both queued. Both then run in one
/// transaction.
#[tokio::test]
async fn a_task_that_is_erased_right_after_a_commit_does_not_exist() {
    let place = Place::new();
    let store = place.open().await;
    let epoch = begin(&store, "t").await.epoch;
    let other = place.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let commit = Commit { expected: 1, epoch, ..create(&task("t", TaskState::InputRequired)) };
    let erase = Erase::Task(Scope::open(), "t".into());
    let behind = async {
        tokio::task::yield_now().await;
        tokio::join!(store.commit(commit), store.erase(&erase))
    };
    let (_, (committed, erased), ()) = tokio::join!(begin(&store, "u"), behind, async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        other.execute_batch("COMMIT").unwrap();
    });
    assert_eq!((committed.unwrap().epoch, erased.unwrap()), (epoch, 1));
    assert!(store.load(&Scope::open(), &"t".into()).await.unwrap().is_none());
}

#[tokio::test]
async fn no_file_contains_records_that_were_dropped_before_the_erasure() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_log_retention(Duration::ZERO)).await.unwrap();
    let epoch = begin(&store, "t").await.epoch;
    for number in 1..600 {
        store.commit(chunk("t", number, epoch, &format!("{MARKER} {number} "))).await.unwrap();
    }
    end(&store, "t").await.unwrap();
    // The writer deletes the log in the background.
    for _ in 0..200 {
        let rows: i64 = place.connection().query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
        if rows == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(store.erase(&Erase::Task(Scope::open(), "t".into())).await.unwrap(), 1);
    assert_eq!(found(&place), 0);
}

#[tokio::test]
async fn no_file_contains_purged_data_when_the_log_is_empty() {
    let place = Place::new();
    let store = place.open().await;
    for number in 0..100 {
        let mut ended = task(&format!("{MARKER} {number}"), TaskState::Completed);
        ended.artifacts.push(Artifact::new("a", vec![Part::text(MARKER.repeat(1 + number * 10))]));
        store.commit(create(&ended)).await.unwrap();
    }
    begin(&store, "stays").await;
    assert_eq!(store.purge(&Purge::new([TaskState::Completed], at(1))).await.unwrap(), 100);
    for _ in 0..500 {
        if found(&place) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(found(&place), 0);
    load(&store, "stays").await;
}

#[tokio::test]
async fn an_erasure_is_completed_when_the_last_reader_of_the_log_ends() {
    let place = Place::new();
    let store = place.open().await;
    let scope = mark(&store).await;
    let reader = place.connection();
    reader.execute_batch("BEGIN; SELECT count(*) FROM tasks").unwrap();
    let erase = Erase::Scope(scope);
    let erased = store.erase(&erase);
    let (erased, waited) = tokio::join!(erased, async {
        // The wait does not block other writes.
        let begun = std::time::Instant::now();
        begin(&store, "meanwhile").await;
        begun.elapsed()
    });
    assert_eq!(erased.unwrap(), 4);
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    assert!(found(&place) > 0, "the reader still sees it");
    reader.execute_batch("COMMIT").unwrap();
    for _ in 0..500 {
        if found(&place) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(found(&place), 0);
}

#[tokio::test]
async fn remaining_records_of_deleted_tasks_are_deleted_at_the_next_start() {
    let place = Place::new();
    {
        let store = place.open().await;
        mark(&store).await;
    }
    // The state after a crash between two writes of an erasure.
    let connection = place.connection();
    connection.execute_batch("INSERT INTO deleted SELECT task FROM tasks; DELETE FROM tasks").unwrap();
    let last: i64 = connection.query_row("SELECT max(task) FROM deleted", [], |row| row.get(0)).unwrap();
    drop(connection);
    let store = place.open().await;
    begin(&store, "new").await;
    let connection = place.connection();
    let key: i64 = connection.query_row("SELECT task FROM tasks", [], |row| row.get(0)).unwrap();
    assert!(key > last, "a key with remaining records is not used again");
    for _ in 0..500 {
        let left: i64 = connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
        if left == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left: (i64, i64) = connection
        .query_row("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM deleted)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(left, (1, 0));
}
