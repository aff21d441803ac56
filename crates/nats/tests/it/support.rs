//! Nodes on a NATS server.

use std::time::Duration;

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Subscription, Wake};
use nuncio_nats::NatsBroker;
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A prefix that no other test has, so that all can share a server.
pub(crate) fn prefix() -> String {
    format!("test-{}", uuid::Uuid::new_v4().simple())
}

/// A node that has come as far as it will: connected, or told why not.
pub(crate) async fn node(url: &str) -> RemoteBus {
    let bus = RemoteBus::start(NatsBroker::new(url.parse().unwrap()));
    let _ = bus.check().await;
    bus
}

pub(crate) fn wake(task: &str, sequence: u64) -> Wake {
    Wake { task: task.into(), sequence }
}

pub(crate) async fn next(subscription: &mut Box<dyn Subscription>) -> Option<Signal> {
    timeout(PATIENCE, subscription.next()).await.expect("a signal comes in time")
}

/// Waits until the bus answers, or does not.
pub(crate) async fn until_it_answers(bus: &RemoteBus, answers: bool) {
    let wait = async {
        while bus.check().await.is_ok() != answers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the bus comes and goes in time");
}
