//! A node leaves.

use std::time::Duration;

use nuncio_engine::bus::{EventBus, Topic};

use super::{
    BusFixture,
    reading::{PATIENCE, next, next_wake, numbered, read_all, wake},
};

/// What is open elsewhere goes on.
pub async fn closing_ends_the_subscriptions_of_one_node<F: BusFixture>(fixture: F) {
    let (leaving, staying) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(1);
    let mut ending = leaving.subscribe(topic).await.unwrap();
    let mut lasting = staying.subscribe(topic).await.unwrap();
    let waiting = tokio::spawn(async move { next(&mut ending).await });
    tokio::task::yield_now().await;
    leaving.close(PATIENCE).await;
    assert_eq!(waiting.await.unwrap(), None, "who waits is told");
    fixture.join().await.publish(topic, wake("task", 1));
    staying.publish(topic, wake("task", 2));
    read_all(&mut lasting, [("task".into(), 2)].into()).await;
    staying.check().await.unwrap();
}

/// What was published right before arrives.
pub async fn closing_sends_what_waits<F: BusFixture>(fixture: F) {
    let (leaving, staying) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(1);
    let mut subscription = staying.subscribe(topic).await.unwrap();
    for number in 0..2_000 {
        leaving.publish(topic, wake(numbered(number), 1));
    }
    leaving.close(PATIENCE).await;
    leaving.publish(topic, wake("too late", 1));
    for number in 0..2_000 {
        assert_eq!(next_wake(&mut subscription).await, wake(numbered(number), 1));
    }
    staying.publish(topic, wake("last", 1));
    assert_eq!(next_wake(&mut subscription).await, wake("last", 1), "nothing is sent after it has left");
}

/// A subscription does not wait for a bus that is gone.
pub async fn a_bus_that_is_dropped_ends_its_subscriptions<F: BusFixture>(fixture: F) {
    let bus = fixture.join().await;
    let mut subscription = bus.subscribe(Topic::Tasks(1)).await.unwrap();
    drop(bus);
    assert_eq!(next(&mut subscription).await, None);
}

/// It says so at once.
pub async fn nobody_joins_a_node_that_has_left<F: BusFixture>(fixture: F) {
    let bus = fixture.join().await;
    bus.check().await.unwrap();
    bus.close(Duration::ZERO).await;
    assert!(bus.check().await.is_err());
    assert!(bus.subscribe(Topic::Tasks(1)).await.is_err());
    bus.close(PATIENCE).await;
}
