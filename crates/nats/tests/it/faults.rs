//! Faults of servers and networks.

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Topic};
use nuncio_testbed::{
    Nats, NatsOptions, Proxy, Server as _,
    bus::{self, TIME_LIMIT, next, until_it_answers, wake},
};

use crate::support::{node, prefix};

const TOPIC: Topic = Topic::Tasks(1);

/// Starts a separate server with two nodes.
async fn own_server() -> (Nats, [RemoteBus; 2]) {
    let server = Nats::start(NatsOptions::new()).unwrap();
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

#[tokio::test]
async fn what_a_network_swallowed_is_sent_again() {
    let (server, prefix) = (Nats::shared().unwrap(), prefix());
    let proxy = Proxy::start(server.address()).unwrap();
    let here = node(&format!("nats://{}/{prefix}", proxy.address())).await;
    let there = node(&format!("{}/{prefix}", server.url())).await;
    bus::what_a_network_swallowed_is_sent_again(&proxy, here, there).await;
}

#[tokio::test]
async fn another_server_replaces_a_failed_server() {
    let servers = [Nats::start(NatsOptions::new()).unwrap(), Nats::start(NatsOptions::new()).unwrap()];
    // The servers are not a cluster, so both nodes must use the remaining server.
    let url = format!("nats://{},{}", servers[0].address(), servers[1].address());
    servers[0].kill().unwrap();
    let here = node(&url).await;
    here.check().await.unwrap();
    servers[1].kill().unwrap();
    until_it_answers(&here, false).await;
    servers[0].restart().unwrap();
    until_it_answers(&here, true).await;
    let there = node(&url).await;
    until_it_answers(&there, true).await;
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    there.publish(TOPIC, wake("task", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("task", 1))));
}

/// Administrators subscribe to `>` when they look for a fault.
#[tokio::test]
async fn a_subscriber_of_all_subjects_does_not_disturb() {
    let server = Nats::start(NatsOptions::new()).unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    let _everything = client.subscribe(">").await.unwrap();
    client.flush().await.unwrap();
    let bus = node(server.url()).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    bus.publish(TOPIC, wake("task", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("task", 1))));
}

#[tokio::test]
async fn clusters_share_a_server_by_prefix() {
    let server = Nats::shared().unwrap();
    let (one, two) = (prefix(), prefix());
    let here = node(&format!("{}/{one}", server.url())).await;
    let there = node(&format!("{}/{two}", server.url())).await;
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    there.publish(TOPIC, wake("foreign", 1));
    there.close(TIME_LIMIT).await;
    here.publish(TOPIC, wake("own", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("own", 1))));
}

/// A message in an unknown format can be any signal.
#[tokio::test]
async fn an_unknown_message_is_reported_as_lost() {
    let server = Nats::shared().unwrap();
    let prefix = prefix();
    let bus = node(&format!("{}/{prefix}", server.url())).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    client.publish(format!("{prefix}.tasks.1"), "{\"v\":2}".into()).await.unwrap();
    assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
}
