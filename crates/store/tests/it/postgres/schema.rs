//! The schema: it is created once, recognized later, and refused if it belongs to another program.

use nuncio_engine::{
    StoreError, TaskStore,
    store::{Claim, CommandId, CommandStatus, Lease},
};
use nuncio_model::{Scope, TaskState};
use nuncio_store::{PostgresError, PostgresStore};
use tokio::task::JoinSet;

use super::place::{Place, options};

/// The first version of the schema.
const FIRST: &str = include_str!("../../../src/postgres/schema/1.sql");

/// A database with the fourth schema, as two killed nodes left it.
const FOURTH: &str = include_str!("fourth_schema.sql");

use crate::support::{at, create, task};

async fn refused(place: &Place) -> PostgresError {
    PostgresStore::open(place.url(), options()).await.err().unwrap()
}

#[tokio::test]
async fn one_of_many_starting_nodes_creates_the_schema() {
    let place = Place::new();
    let mut nodes = JoinSet::new();
    for _ in 0..8 {
        let url = place.url().to_owned();
        nodes.spawn(async move { PostgresStore::open(&url, options()).await.unwrap() });
    }
    let nodes = nodes.join_all().await;
    nodes[0].commit(create(&task("t", TaskState::Completed))).await.unwrap();
    for node in &nodes {
        assert_eq!(node.count().await.unwrap(), 1);
    }
}

#[tokio::test]
async fn schemas_in_one_database_are_separate_stores() {
    let place = Place::new();
    let one = place.open(options()).await;
    let other = place.open(options().with_schema("other")).await;
    one.commit(create(&task("t", TaskState::Working))).await.unwrap();
    assert!(other.load(&Scope::open(), &"t".into()).await.unwrap().is_none());
    other.commit(create(&task("t", TaskState::Completed))).await.unwrap();
    assert_eq!((one.count().await.unwrap(), other.count().await.unwrap()), (1, 1));
    assert!(other.place().ends_with(", schema other"), "{}", other.place());
}

#[tokio::test]
async fn a_schema_of_a_later_release_is_refused() {
    let place = Place::new();
    drop(place.open(options()).await);
    place.client().await.batch_execute("UPDATE nuncio_schema SET version = 1000").await.unwrap();
    let error = refused(&place).await;
    assert!(matches!(error, PostgresError::Newer { found: 1000, .. }), "{error}");
    assert!(error.to_string().contains("use the release that wrote it"), "{error}");
}

#[tokio::test]
async fn a_schema_of_another_program_is_refused_and_not_changed() {
    let place = Place::new();
    let client = place.client().await;
    client.batch_execute("CREATE SCHEMA nuncio; CREATE TABLE nuncio.invoices (number int)").await.unwrap();
    let error = refused(&place).await;
    assert!(matches!(error, PostgresError::Foreign { .. }), "{error}");
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'nuncio'::regnamespace";
    assert_eq!(client.query_one(tables, &[]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test]
async fn an_error_about_an_unreachable_server_does_not_contain_the_password() {
    let port = nuncio_testbed::Port::take().unwrap();
    let url = format!("postgres://ann:s3cret@127.0.0.1:{port}/tasks");
    let error = PostgresStore::open(&url, options()).await.err().unwrap();
    assert!(matches!(error, PostgresError::Unreachable { .. }), "{error}");
    assert!(error.to_string().starts_with("the database ann@127.0.0.1:"), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_schema_of_an_earlier_release_is_migrated() {
    let place = Place::new();
    let client = place.client().await;
    let first = format!(
        "CREATE SCHEMA nuncio; {FIRST}; \
         CREATE TABLE nuncio_schema (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL); \
         INSERT INTO nuncio_schema (version) VALUES (1); \
         INSERT INTO tasks VALUES ('t', '', '', 'c', clock_timestamp(), 1, 1, NULL, 1, NULL, 0, 6, 6, false); \
         INSERT INTO bodies VALUES ('t', 1, '{{\"status\":{{\"state\":\"TASK_STATE_INPUT_REQUIRED\"}}}}'); \
         INSERT INTO totals VALUES ('', '', 6, 1)"
    );
    client.batch_execute(&first).await.unwrap();
    let found = PostgresStore::schema(place.url(), options()).await.unwrap();
    assert_eq!((found.found, found.known), (1, 7));
    let store = place.open(options()).await;
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
    assert_eq!(store.load(&Scope::open(), &"t".into()).await.unwrap().unwrap().task.state(), TaskState::InputRequired);
    let now = nuncio_model::Timestamp::now();
    assert_eq!(store.resting(&[TaskState::InputRequired], now, 9).await.unwrap().len(), 1);
    assert_eq!(PostgresStore::schema(place.url(), options()).await.unwrap().found, 7);
}

#[tokio::test]
async fn a_schema_is_not_migrated_while_a_node_of_an_earlier_release_has_a_lease() {
    let place = Place::new();
    let client = place.client().await;
    client.batch_execute(FOURTH).await.unwrap();
    client.batch_execute("UPDATE nuncio.nodes SET expires = now() + interval '1 hour' WHERE node = 2").await.unwrap();
    let migrated = PostgresStore::migrate(place.url(), options()).await;
    for error in [refused(&place).await, migrated.err().unwrap()] {
        assert!(matches!(error, PostgresError::InUse { .. }), "{error}");
        let hint = "is in use by nodes of an earlier release; stop all nodes, and start again";
        assert!(error.to_string().ends_with(hint), "{error}");
    }
    assert_eq!(PostgresStore::schema(place.url(), options()).await.unwrap().found, 4);
    place.end_leases().await;
    let store = place.open(options()).await;
    assert_eq!(store.count().await.unwrap(), 3);
}

#[tokio::test]
async fn a_node_that_lost_its_lease_does_not_rejoin_after_an_update_of_the_schema() {
    let place = Place::new();
    let store = place.open(options()).await;
    let cluster = store.cluster().unwrap();
    place.client().await.batch_execute("UPDATE nuncio_schema SET version = 1000").await.unwrap();
    assert_eq!(cluster.renew().await.unwrap(), Lease::Kept);
    place.end_leases().await;
    let error = cluster.renew().await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap();
    assert!(reason.contains("a later release has updated the schema"), "{reason}");
    let leases = "SELECT count(*) FROM nodes WHERE expires > clock_timestamp()";
    assert_eq!(place.client().await.query_one(leases, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_schema_of_an_earlier_release_keeps_its_tasks_messages_commands_and_webhooks() {
    let (place, scope) = (Place::new(), Scope::open());
    place.client().await.batch_execute(FOURTH).await.unwrap();
    let store = place.open(options()).await;
    assert_eq!(store.verify().await.unwrap(), [""; 0]);
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
    assert_eq!(due, [("http://127.0.0.1:9/hook", 0, 3)]);
    let (cluster, command) = (store.cluster().unwrap(), CommandId("command".into()));
    assert_eq!(cluster.status(&command).await.unwrap(), Some(CommandStatus::default()));
    let claimed = store.claim(&scope, &"runs".into()).await.unwrap();
    let Some(Claim::Owned { abandoned: true, commands, .. }) = claimed else { panic!("{claimed:?}") };
    assert_eq!(commands.iter().map(|it| &it.id).collect::<Vec<_>>(), [&command]);
    assert!(String::from_utf8_lossy(&commands[0].body).contains("m-waits"));
    assert!(cluster.cancel(&command).await.unwrap());
}
