//! Topics and the content of signals.

use nuncio_engine::{
    bus::{EventBus, Signal, Topic},
    store::NodeId,
};

use super::{
    BusFixture,
    reading::{next, next_wake, read_all, wake},
};

/// A subscription receives the signals of its own topic only, even if topics have similar names.
pub async fn a_subscription_receives_only_its_topic<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topics = [
        Topic::Tasks(1),
        Topic::Tasks(11),
        Topic::Tasks(111),
        Topic::Node(NodeId(1)),
        Topic::Node(NodeId(11)),
        Topic::Node(NodeId(u64::MAX)),
    ];
    let mut subscriptions = Vec::new();
    for topic in topics {
        subscriptions.push(here.subscribe(topic).await.unwrap());
    }
    for topic in topics {
        there.publish(topic, wake(topic.to_string(), 1));
    }
    // A last signal for each topic. A signal on a wrong topic arrives before the last signal.
    for topic in topics {
        there.publish(topic, wake("last", 1));
    }
    for (topic, subscription) in topics.iter().zip(&mut subscriptions) {
        assert_eq!(next_wake(subscription).await, wake(topic.to_string(), 1));
        assert_eq!(next_wake(subscription).await, wake("last", 1));
    }
}

/// Task ids arrive unchanged. If an id is too long for the transport, subscribers receive `Lost`.
pub async fn any_text_can_be_a_task_id<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(0);
    let mut subscription = here.subscribe(topic).await.unwrap();
    let texts = ["", " ", "a b\nc\td", "'; DROP TABLE tasks; --", "\"quoted\"", "\\x00", "日本語", "a.b.*.>", "17 18"];
    for text in texts.into_iter().map(str::to_owned).chain([200, 7_000].map(|length| "é".repeat(length / 2))) {
        there.publish(topic, wake(text.clone(), u64::MAX));
        assert_eq!(next_wake(&mut subscription).await, wake(text, u64::MAX));
    }
    let long = "x".repeat(100_000);
    for text in [long, "a\0b".to_owned()] {
        there.publish(topic, wake(text.clone(), 1));
        let signal = next(&mut subscription).await;
        assert!(signal == Some(Signal::Lost) || signal == Some(Signal::Wake(wake(text, 1))), "{signal:?}");
    }
    there.publish(topic, wake("after", 1));
    read_all(&mut subscription, [("after".into(), 1)].into()).await;
}

/// Several commands for a task can share a signal, but a signal follows the last command.
pub async fn every_command_is_signalled<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Node(NodeId(4));
    let mut subscription = here.subscribe(topic).await.unwrap();
    for _ in 0..3 {
        there.publish(topic, wake("task", 0));
        assert_eq!(next_wake(&mut subscription).await, wake("task", 0));
    }
}
