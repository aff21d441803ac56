//! Faults of real servers and networks.

use std::{
    error::Error as _,
    time::{Duration, Instant},
};

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Topic};
use nuncio_testbed::{
    Port, Postgres, PostgresOptions, Proxy, Server as _,
    bus::{self, next, until_it_answers, wake},
};

use super::node;

const TOPIC: Topic = Topic::Tasks(1);

/// Terminates the bus sessions whose last statement matches, and returns their number.
async fn end_sessions(url: &str, last_query: &str) -> u64 {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'nuncio bus' AND query LIKE $1";
    let ended = client.execute(end, &[&last_query]).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    ended
}

async fn works(bus: &RemoteBus) {
    let mut subscription = bus.subscribe(Topic::Tasks(2)).await.unwrap();
    bus.publish(Topic::Tasks(2), wake("works", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("works", 1))));
}

/// Starts a server for one test, with two nodes.
async fn own_server() -> (Postgres, [RemoteBus; 2]) {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let nodes = [node(server.url()).await, node(server.url()).await];
    (server, nodes)
}

#[tokio::test]
async fn a_server_that_was_killed_and_started_again_has_its_subscriptions() {
    let (server, nodes) = own_server().await;
    bus::a_server_that_was_killed_and_started_again_has_its_subscriptions(&server, nodes).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_noticed_within_seconds() {
    let (server, nodes) = own_server().await;
    bus::a_server_that_hangs_is_noticed_within_seconds(&server, nodes).await;
}

/// For example, an administrator terminates the connection, or a firewall drops it. Tests both connections of a node.
#[tokio::test]
async fn a_connection_that_ends_is_replaced() {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let bus = node(server.url()).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    for last_query in ["%LISTEN%", "%pg_notify%"] {
        // The last statement must not be a probe.
        works(&bus).await;
        let deadline = Instant::now() + Duration::from_secs(10);
        while end_sessions(server.url(), last_query).await == 0 {
            assert!(Instant::now() < deadline, "no session has said {last_query}");
            works(&bus).await;
        }
        assert_eq!(next(&mut subscription).await, Some(Signal::Lost), "{last_query}");
        until_it_answers(&bus, true).await;
        works(&bus).await;
    }
}

#[tokio::test]
async fn signals_that_a_network_lost_are_sent_again() {
    let server = Postgres::shared().unwrap();
    let database = server.database().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let here = node(&database.url_by(&proxy.address().to_string()).unwrap()).await;
    bus::what_a_network_swallowed_is_sent_again(&proxy, here, node(database.url()).await).await;
}

#[tokio::test]
async fn clusters_share_a_database_by_schema() {
    let database = Postgres::shared().unwrap().database().unwrap();
    let in_schema = |schema: &str| format!("{}?schema={schema}", database.url());
    let (here, there) = (node(&in_schema("one")).await, node(&in_schema("two")).await);
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    there.publish(TOPIC, wake("foreign", 1));
    there.close(Duration::from_secs(10)).await;
    here.publish(TOPIC, wake("own", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("own", 1))));
}

#[tokio::test]
async fn an_error_about_a_missing_server_does_not_contain_the_password() {
    let port = Port::take().unwrap();
    let bus = node(&format!("postgres://ann:secret@127.0.0.1:{port}/tasks")).await;
    let error = bus.check().await.unwrap_err();
    let text = format!("{error}: {}", error.source().unwrap());
    assert!(text.contains("connect") && !text.contains("secret"), "{text}");
}
