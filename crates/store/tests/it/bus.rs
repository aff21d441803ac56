//! PostgreSQL as the bus: against the contract of buses, and what happens to real servers.

mod contract;
mod faults;

use std::time::Duration;

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Subscription, Wake};
use nuncio_store::{PostgresBroker, PostgresOptions};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

/// A node that has come as far as it will: connected, or told why not.
async fn node(url: &str) -> RemoteBus {
    let bus = RemoteBus::start(PostgresBroker::new(url, &PostgresOptions::new()).unwrap());
    let _ = bus.check().await;
    bus
}

fn wake(task: &str, sequence: u64) -> Wake {
    Wake { task: task.into(), sequence }
}

async fn next(subscription: &mut Box<dyn Subscription>) -> Option<Signal> {
    timeout(PATIENCE, subscription.next()).await.expect("a signal comes in time")
}

/// Waits until the bus answers, or does not.
async fn until_it_answers(bus: &RemoteBus, answers: bool) {
    let wait = async {
        while bus.check().await.is_ok() != answers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the bus comes and goes in time");
}
