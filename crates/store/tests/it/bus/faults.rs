//! What happens to real servers and networks.

use std::{
    error::Error as _,
    time::{Duration, Instant},
};

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Topic};
use nuncio_testbed::{Postgres, PostgresOptions, Proxy, free_port};

use super::{next, node, until_it_answers, wake};

const TOPIC: Topic = Topic::Tasks(1);

/// Ends all sessions of buses that are in this state of work, and gives how many there were.
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

#[tokio::test]
async fn a_server_that_was_killed_and_started_again_has_its_subscriptions() {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let (here, there) = (node(server.url()).await, node(server.url()).await);
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    server.kill().unwrap();
    until_it_answers(&here, false).await;
    there.publish(TOPIC, wake("in the outage", 1));
    server.restart().unwrap();
    until_it_answers(&here, true).await;
    until_it_answers(&there, true).await;
    there.publish(TOPIC, wake("after", 1));
    let mut has_lost = false;
    loop {
        match next(&mut subscription).await {
            Some(Signal::Lost) => has_lost = true,
            Some(Signal::Wake(signal)) if signal == wake("after", 1) => break,
            other => assert_eq!(other, Some(Signal::Wake(wake("in the outage", 1)))),
        }
    }
    assert!(has_lost, "what was published while nobody was there may have been missed");
}

/// Connections stay open, and nothing comes.
#[tokio::test]
async fn a_server_that_hangs_is_noticed_within_seconds() {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let bus = node(server.url()).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    server.pause().unwrap();
    let began = Instant::now();
    until_it_answers(&bus, false).await;
    assert!(began.elapsed() < Duration::from_secs(8), "it took {:?}", began.elapsed());
    server.resume().unwrap();
    until_it_answers(&bus, true).await;
    assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
    works(&bus).await;
}

/// An administrator ends it, or a firewall forgets it: whichever of the two it is.
#[tokio::test]
async fn a_connection_that_ends_is_replaced() {
    let server = Postgres::start(PostgresOptions::new()).unwrap();
    let bus = node(server.url()).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    for last_query in ["%LISTEN%", "%pg_notify%"] {
        // As its last statement, not a probe.
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

/// The network swallows what is sent; the connections look alive from both ends.
#[tokio::test]
async fn what_a_network_swallowed_is_sent_again() {
    let server = Postgres::shared().unwrap();
    let database = server.database().unwrap();
    let proxy = Proxy::start(server.address()).unwrap();
    let here = node(&database.url_by(&proxy.address().to_string()).unwrap()).await;
    let there = node(database.url()).await;
    let mut subscription = there.subscribe(TOPIC).await.unwrap();
    proxy.set(|faults| faults.holds = true);
    here.publish(TOPIC, wake("swallowed", 1));
    until_it_answers(&here, false).await;
    // What the network holds is gone for good.
    proxy.cut();
    proxy.heal();
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("swallowed", 1))));
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
async fn a_server_that_is_not_there_is_told_without_the_password() {
    let port = free_port().unwrap();
    let bus = node(&format!("postgres://ann:secret@127.0.0.1:{port}/tasks")).await;
    let error = bus.check().await.unwrap_err();
    let text = format!("{error}: {}", error.source().unwrap());
    assert!(text.contains("connect") && !text.contains("secret"), "{text}");
}
