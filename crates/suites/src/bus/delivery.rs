//! What is published arrives, in order.

use std::sync::Arc;

use nuncio_engine::{
    bus::{EventBus, Signal, Topic},
    store::NodeId,
};

use super::{
    BusFixture,
    reading::{next, next_wake, numbered, read_to, wake},
};

/// On each node, also the one that publishes, each subscription gets it.
pub async fn what_is_published_reaches_every_node<F: BusFixture>(fixture: F) {
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

/// Who has subscribed misses nothing that is published afterwards, be it at once and elsewhere.
pub async fn a_subscription_that_is_there_loses_nothing<F: BusFixture>(fixture: F) {
    const WORKERS: u64 = 8;
    const PAIRS: u64 = 10_000 / WORKERS;
    let (here, there) = (Arc::new(fixture.join().await), Arc::new(fixture.join().await));
    let workers = (0..WORKERS).map(|worker| {
        let (here, there) = (here.clone(), there.clone());
        tokio::spawn(async move {
            for pair in 0..PAIRS {
                // A topic that nobody has listened to before.
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

/// The same on one topic, which is left and listened to at the same time.
pub async fn a_subscription_that_comes_back_loses_nothing<F: BusFixture>(fixture: F) {
    let (here, there) = (Arc::new(fixture.join().await), Arc::new(fixture.join().await));
    let topic = Topic::Tasks(0);
    let workers = (0..2).map(|worker| {
        let (here, there) = (here.clone(), there.clone());
        tokio::spawn(async move {
            for sequence in 0..1_000 {
                let mut subscription = here.subscribe(topic).await.unwrap();
                let own = wake(numbered(worker), sequence);
                there.publish(topic, own.clone());
                // What the other worker publishes may come before.
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

/// None comes after a later one of its task; the last one comes in any case.
pub async fn signals_of_a_task_come_in_their_order<F: BusFixture>(fixture: F) {
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

/// Who leaves takes nobody else along.
pub async fn one_of_several_subscriptions_may_leave<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(3);
    let mut staying = here.subscribe(topic).await.unwrap();
    for sequence in 1..=100 {
        drop(here.subscribe(topic).await.unwrap());
        there.publish(topic, wake("task", sequence));
        assert_eq!(next(&mut staying).await, Some(Signal::Wake(wake("task", sequence))));
    }
}
