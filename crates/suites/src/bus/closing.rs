//! Closing a bus.

use std::time::Duration;

use nuncio_engine::bus::{EventBus, Topic};

use super::{
    BusFixture,
    reading::{TIMEOUT, next, next_wake, numbered, read_all, wake},
};

/// `close` ends the subscriptions of this node. Other nodes continue.
pub async fn closing_ends_the_subscriptions_of_the_node<F: BusFixture>(fixture: F) {
    let (leaving, staying) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(1);
    let mut ending = leaving.subscribe(topic).await.unwrap();
    let mut lasting = staying.subscribe(topic).await.unwrap();
    let waiting = tokio::spawn(async move { next(&mut ending).await });
    tokio::task::yield_now().await;
    leaving.close(TIMEOUT).await;
    assert_eq!(waiting.await.unwrap(), None, "the waiting call returns");
    fixture.join().await.publish(topic, wake("task", 1));
    staying.publish(topic, wake("task", 2));
    read_all(&mut lasting, [("task".into(), 2)].into()).await;
    staying.check().await.unwrap();
}

/// Signals published before `close` are sent; later signals are not.
pub async fn closing_sends_queued_signals<F: BusFixture>(fixture: F) {
    let (leaving, staying) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(1);
    let mut subscription = staying.subscribe(topic).await.unwrap();
    for number in 0..2_000 {
        leaving.publish(topic, wake(numbered(number), 1));
    }
    leaving.close(TIMEOUT).await;
    leaving.publish(topic, wake("too late", 1));
    for number in 0..2_000 {
        assert_eq!(next_wake(&mut subscription).await, wake(numbered(number), 1));
    }
    staying.publish(topic, wake("last", 1));
    assert_eq!(next_wake(&mut subscription).await, wake("last", 1), "the closed node sends nothing");
}

/// Dropping the bus ends its subscriptions.
pub async fn dropping_the_bus_ends_its_subscriptions<F: BusFixture>(fixture: F) {
    let bus = fixture.join().await;
    let mut subscription = bus.subscribe(Topic::Tasks(1)).await.unwrap();
    drop(bus);
    assert_eq!(next(&mut subscription).await, None);
}

/// After `close`, `check` and `subscribe` fail at once.
pub async fn a_closed_bus_refuses_subscriptions<F: BusFixture>(fixture: F) {
    let bus = fixture.join().await;
    bus.check().await.unwrap();
    bus.close(Duration::ZERO).await;
    assert!(bus.check().await.is_err());
    assert!(bus.subscribe(Topic::Tasks(1)).await.is_err());
    bus.close(TIMEOUT).await;
}
