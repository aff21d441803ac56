//! What happens to real servers and networks.

use std::time::{Duration, Instant};

use nuncio_engine::bus::{EventBus, Signal, Topic};
use nuncio_testbed::{Nats, NatsOptions, Proxy};

use crate::support::{PATIENCE, next, node, prefix, until_it_answers, wake};

const TOPIC: Topic = Topic::Tasks(1);

#[tokio::test]
async fn a_server_that_was_killed_and_started_again_has_its_subscriptions() {
    let server = Nats::start(NatsOptions::new()).unwrap();
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
    let server = Nats::start(NatsOptions::new()).unwrap();
    let (here, there) = (node(server.url()).await, node(server.url()).await);
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    server.pause().unwrap();
    let began = Instant::now();
    assert!(here.subscribe(Topic::Tasks(2)).await.is_err(), "nothing is promised that cannot be kept");
    until_it_answers(&here, false).await;
    assert!(began.elapsed() < Duration::from_secs(8), "it took {:?}", began.elapsed());
    server.resume().unwrap();
    until_it_answers(&here, true).await;
    assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
    until_it_answers(&there, true).await;
    there.publish(TOPIC, wake("after", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("after", 1))));
}

/// The network swallows what is sent; the connection looks alive from both ends.
#[tokio::test]
async fn what_a_network_swallowed_is_sent_again() {
    let server = Nats::shared().unwrap();
    let prefix = prefix();
    let proxy = Proxy::start(server.address()).unwrap();
    let here = node(&format!("nats://{}/{prefix}", proxy.address())).await;
    let there = node(&format!("{}/{prefix}", server.url())).await;
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
async fn another_server_takes_the_place_of_one_that_is_gone() {
    let servers = [Nats::start(NatsOptions::new()).unwrap(), Nats::start(NatsOptions::new()).unwrap()];
    // They know nothing of one another, so both nodes have to end up at the one that is left.
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

/// As administrators do when they look for something.
#[tokio::test]
async fn somebody_may_listen_to_everything() {
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
    there.close(PATIENCE).await;
    here.publish(TOPIC, wake("own", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("own", 1))));
}

/// What others write to our subjects may have meant anything.
#[tokio::test]
async fn a_message_that_is_not_understood_counts_as_lost() {
    let server = Nats::shared().unwrap();
    let prefix = prefix();
    let bus = node(&format!("{}/{prefix}", server.url())).await;
    let mut subscription = bus.subscribe(TOPIC).await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    client.publish(format!("{prefix}.tasks.1"), "{\"v\":2}".into()).await.unwrap();
    assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
}
