//! Databases with earlier schemas give the same results as new databases.

use nuncio_engine::{
    TaskStore,
    store::{Claim, ListQuery, Portion, PushConfig},
};
use nuncio_model::{
    Artifact, AuthenticationInfo, Message, Part, Principal, Scope, Task, TaskPushNotificationConfig, TaskState,
    Timestamp,
};
use nuncio_store::SqliteStore;

use crate::support::{Place, at, begin, chunk, create, end, task};

/// A dump of a database with the first schema, written by `sample`. Do not change this file.
const FIRST: &str = include_str!("first_schema.sql");

/// A dump of a database with the second schema, in which webhooks have a format. Written by `sample` and
/// `sample_of_formats`.
const SECOND: &str = include_str!("second_schema.sql");

/// A database with the fifth schema, as a killed server left it.
const FIFTH: &str = include_str!("fifth_schema.sql");

fn tenant() -> Scope {
    Scope::new("tenant".into(), Principal::named("somebody"))
}

/// Writes all kinds of data: ended tasks, small and large, a parked task, a running task, and a task with a pending
/// delivery.
async fn sample(store: &SqliteStore) {
    let mut small = task("small", TaskState::Completed);
    small.metadata = Some(Box::new(serde_json::from_str(r#"{"k":null,"ü":[1.5,"x"]}"#).unwrap()));
    small.artifacts.push(Artifact::new("a", vec![Part::text("x"), Part::raw(*b"\0\xff"), Part::data(3)]));
    small.status.message = Some(Box::new(Message { message_id: "s".into(), ..Message::agent("done") }));
    store.commit(create(&small)).await.unwrap();
    let mut big = task("big", TaskState::Failed);
    big.artifacts.push(Artifact::new("a", vec![Part::text("x".repeat(5_000))]));
    store.commit(create(&big)).await.unwrap();
    let mut foreign = create(&task("foreign", TaskState::InputRequired));
    foreign.scope = tenant();
    store.commit(foreign).await.unwrap();
    for id in ["running", "owed"] {
        let mut commit = create(&task(id, TaskState::Working));
        if id == "owed" {
            commit.push_configs.push(PushConfig { config: config(), format: None, delivered: 0 });
        }
        let epoch = store.commit(commit).await.unwrap().epoch;
        store.commit(chunk(id, 1, epoch, "one")).await.unwrap();
        store.commit(chunk(id, 2, epoch, "two")).await.unwrap();
    }
    end(store, "owed").await.unwrap();
    // Releases with these schemas stored no log for a task that was parked by its first commit.
    let later = Timestamp::from_millisecond(Timestamp::now().as_millisecond() + 1_000).unwrap();
    assert_eq!(store.compact(later, 10).await.unwrap(), 1);
}

/// Writes the data that only the second schema can contain.
async fn sample_of_formats(store: &SqliteStore) {
    let config = TaskPushNotificationConfig { task_id: Some("running".into()), ..config() };
    let config = PushConfig { config, format: Some("a format".into()), delivered: 1 };
    assert!(store.put_push_config(&Scope::open(), config).await.unwrap());
}

fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: Some("p".into()),
        task_id: Some("owed".into()),
        url: "https://example.org/hook".into(),
        token: Some("token".into()),
        authentication: Some(AuthenticationInfo { scheme: "Bearer".into(), credentials: Some("secret".into()) }),
        ..Default::default()
    }
}

/// The results of all reads.
async fn all(store: &SqliteStore) -> String {
    use std::fmt::Write as _;
    let mut answers = String::new();
    for scope in [Scope::open(), tenant()] {
        for artifacts in [true, false] {
            let query = ListQuery { page_size: 3, artifacts, ..ListQuery::default() };
            let page = store.list(&scope, &query).await.unwrap();
            let json: Vec<_> = page.tasks.iter().map(|task| serde_json::to_string(&**task).unwrap()).collect();
            writeln!(answers, "{} of {}: {json:#?}", json.len(), page.total).unwrap();
        }
        for id in ["small", "big", "foreign", "running", "owed"] {
            let stored = store.load(&scope, &id.into()).await.unwrap();
            let task = stored.as_ref().map(|stored| serde_json::to_string(&*stored.task).unwrap());
            writeln!(answers, "{id}: {task:?}, {:?}", stored.map(|stored| stored.sequence)).unwrap();
            let configs = store.push_configs(&scope, &id.into()).await.unwrap();
            let events = store.events_after(&scope, &id.into(), 0, Portion::records(10)).await;
            writeln!(answers, "{configs:?} {events:?}").unwrap();
        }
    }
    let due = store.due_pushes(nuncio_model::Timestamp::now(), 10).await.unwrap();
    let orphans = store.orphans(10).await.unwrap();
    writeln!(answers, "{due:?} {orphans:?}").unwrap();
    answers
}

#[tokio::test]
async fn a_database_of_the_first_schema_is_read_and_continued() {
    let new = Place::new();
    sample(&new.open().await).await;
    assert_read_and_continued(FIRST, new).await;
}

#[tokio::test]
async fn a_database_of_the_second_schema_is_read_and_continued() {
    let new = Place::new();
    {
        let store = new.open().await;
        sample(&store).await;
        sample_of_formats(&store).await;
    }
    assert_read_and_continued(SECOND, new).await;
}

/// Compares a dumped database with a new database of the same content, and continues to write to the dumped database.
async fn assert_read_and_continued(dump: &str, new: Place) {
    let old = Place::new();
    old.connection().execute_batch(dump).unwrap();
    let (old, new) = (old.open().await, new.open().await);
    assert_eq!(all(&old).await, all(&new).await);
    let Some(Claim::Owned { stored, abandoned: true, .. }) =
        old.claim(&Scope::open(), &"running".into()).await.unwrap()
    else {
        panic!("the task was not running");
    };
    old.commit(chunk("running", stored.sequence, stored.epoch, "three")).await.unwrap();
    end(&old, "running").await.unwrap();
    begin(&old, "new").await;
    let stored: Task = Task::clone(&crate::support::load(&old, "running").await.task);
    assert_eq!((stored.state(), stored.artifacts[0].text().as_str()), (TaskState::Completed, "onetwothree"));
}

#[tokio::test]
async fn a_database_of_the_fifth_schema_keeps_its_tasks_messages_and_webhooks() {
    let (place, scope) = (Place::new(), Scope::open());
    place.connection().execute_batch(FIFTH).unwrap();
    let store = place.open().await;
    for (id, state, message) in [
        ("done", TaskState::Completed, "m-done"),
        ("asks", TaskState::InputRequired, "m-ask"),
        ("runs", TaskState::Working, "m-run"),
    ] {
        let stored = store.load(&scope, &id.into()).await.unwrap().unwrap();
        assert_eq!((stored.task.state(), stored.task.history[0].message_id.as_str()), (state, message));
        let found = store.task_of_message(&scope, &message.into(), at(0)).await.unwrap();
        assert_eq!(found.as_ref().map(nuncio_model::TaskId::as_str), Some(id));
    }
    let due = store.due_pushes(at(1_000_000_000), 10).await.unwrap();
    let due: Vec<_> = due.iter().map(|push| (push.config.url.as_str(), push.delivered, push.pending)).collect();
    assert_eq!(due, [("http://127.0.0.1:9/hook", 0, 2)]);
    let claimed = store.claim(&scope, &"runs".into()).await.unwrap();
    assert!(matches!(claimed, Some(Claim::Owned { abandoned: true, .. })), "{claimed:?}");
}
