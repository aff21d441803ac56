//! Tests of a private PostgreSQL server.

use std::time::Duration;

use nuncio_testbed::{Postgres, PostgresOptions, Proxy, Server as _};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM kept", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn databases_are_separate_and_dropped_with_their_value() {
    let server = Postgres::shared().unwrap();
    let (one, other) = (server.database().unwrap(), server.database().unwrap());
    let client = connect(one.url()).await;
    client.batch_execute("CREATE TABLE kept (number int)").await.unwrap();
    let stranger = connect(other.url()).await;
    assert!(stranger.query("SELECT * FROM kept", &[]).await.is_err());
    let url = other.url().to_owned();
    drop(other);
    // A private server is dropped as a whole, so its databases need no separate check.
    if std::env::var_os("NUNCIO_TEST_POSTGRES").is_some() {
        assert!(tokio_postgres::connect(&url, NoTls).await.is_err());
    }
}

#[tokio::test]
async fn committed_data_survives_a_kill_and_a_restart() {
    let server = Postgres::start(PostgresOptions::new().with_setting("application_name=nuncio")).unwrap();
    let database = server.database().unwrap();
    let client = connect(database.url()).await;
    client.batch_execute("CREATE TABLE kept (number int); INSERT INTO kept VALUES (1)").await.unwrap();
    server.kill().unwrap();
    assert!(client.query("SELECT 1", &[]).await.is_err());
    assert!(tokio_postgres::connect(database.url(), NoTls).await.is_err());
    server.restart().unwrap();
    let client = connect(database.url()).await;
    assert_eq!(count(&client).await, 1);
    client.batch_execute("INSERT INTO kept VALUES (2)").await.unwrap();
    server.restart().unwrap();
    assert!(client.query("SELECT 1", &[]).await.is_err());
    assert_eq!(count(&connect(database.url()).await).await, 2);
}

#[tokio::test]
async fn a_paused_server_answers_after_it_continues() {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let client = connect(server.url()).await;
    server.pause().unwrap();
    let asked = client.query_one("SELECT 7", &[]);
    tokio::pin!(asked);
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut asked).await.is_err());
    server.resume().unwrap();
    assert_eq!(asked.await.unwrap().get::<_, i32>(0), 7);
}

#[tokio::test]
async fn a_database_is_reachable_over_a_proxy() {
    let server = Postgres::shared().unwrap();
    let database = server.database().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let client = connect(&database.url_by(&proxy.address().to_string()).unwrap()).await;
    client.query("SELECT 1", &[]).await.unwrap();
    proxy.cut();
    assert!(client.query("SELECT 1", &[]).await.is_err());
}
