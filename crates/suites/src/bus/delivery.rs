//! Delivery and order of signals.

use std::sync::Arc;

use nuncio_engine::{
    bus::{EventBus, Signal, Topic},
    store::NodeId,
};

use super::{
    BusFixture,
    reading::{next, next_wake, numbered, read_to, wake},
};

/// Every subscription of every node receives a signal, including the node of the publisher.
pub async fn a_signal_reaches_every_subscription_of_every_node<F: BusFixture>(fixture: F) {
    let nodes = [fixture.join().await, fixture.join().await, fixture.join().await];
    let topic = Topic::Tasks(7);
    let mut subscriptions = Vec::new();
    for node in &nodes {
        node.check().await.unwrap();
        subscriptions.push(node.subscribe(topic).await.unwrap());
        subscriptions.push(node.subscribe(topic).await.unwrap());
    }
    for (from, node) in nodes.iter().enumerate() {
        node.publish(topic, wake(numbered(from), 17));
        for subscription in &mut subscriptions {
            assert_eq!(next_wake(subscription).await, wake(numbered(from), 17));
        }
    }
}

/// A subscription receives every signal published after `subscribe` has returned, on any node.
pub async fn a_subscription_receives_every_later_signal<F: BusFixture>(fixture: F) {
    const WORKERS: u64 = 8;
    const PAIRS: u64 = 10_000 / WORKERS;
    let (here, there) = (Arc::new(fixture.join().await), Arc::new(fixture.join().await));
    let workers = (0..WORKERS).map(|worker| {
        let (here, there) = (here.clone(), there.clone());
        tokio::spawn(async move {
            for pair in 0..PAIRS {
                // No node has subscribed to this topic before.
                let topic = Topic::Node(NodeId(worker * PAIRS + pair));
                let mut subscription = here.subscribe(topic).await.unwrap();
                there.publish(topic, wake("task", pair));
                assert_eq!(next_wake(&mut subscription).await, wake("task", pair));
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

/// The same promise on a shared topic, with subscriptions that come and go at the same time.
pub async fn a_repeated_subscription_receives_every_later_signal<F: BusFixture>(fixture: F) {
    let (here, there) = (Arc::new(fixture.join().await), Arc::new(fixture.join().await));
    let topic = Topic::Tasks(0);
    let workers = (0..2).map(|worker| {
        let (here, there) = (here.clone(), there.clone());
        tokio::spawn(async move {
            for sequence in 0..1_000 {
                let mut subscription = here.subscribe(topic).await.unwrap();
                let own = wake(numbered(worker), sequence);
                there.publish(topic, own.clone());
                // Signals of the other worker can arrive first.
                for signal in read_to(&mut subscription, &Signal::Wake(own)).await {
                    assert!(matches!(&signal, Signal::Wake(wake) if wake.task == numbered(1 - worker)), "{signal:?}");
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

/// Sequence numbers of a task never go back, and the last signal always arrives.
pub async fn signals_of_a_task_arrive_in_order<F: BusFixture>(fixture: F) {
    const LAST: u64 = 2_000;
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(255);
    let mut subscription = here.subscribe(topic).await.unwrap();
    let publishing = tokio::spawn(async move {
        for sequence in 1..=LAST {
            for task in 0..3 {
                there.publish(topic, wake(numbered(task), sequence));
            }
            if sequence % 10 == 0 {
                tokio::task::yield_now().await;
            }
        }
        there
    });
    let mut seen = [0; 3];
    while seen != [LAST; 3] {
        let wake = next_wake(&mut subscription).await;
        let task = (0..3).find(|task| wake.task == numbered(*task)).unwrap();
        assert!(wake.sequence > seen[task], "{} came after {}", wake.sequence, seen[task]);
        seen[task] = wake.sequence;
    }
    publishing.await.unwrap();
}

/// Dropping a subscription does not affect other subscriptions of the same topic.
pub async fn dropping_a_subscription_affects_no_other<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(3);
    let mut staying = here.subscribe(topic).await.unwrap();
    for sequence in 1..=100 {
        drop(here.subscribe(topic).await.unwrap());
        there.publish(topic, wake("task", sequence));
        assert_eq!(next(&mut staying).await, Some(Signal::Wake(wake("task", sequence))));
    }
}
