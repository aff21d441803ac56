//! What signals say, and to whom.

use nuncio_engine::{
    bus::{EventBus, Signal, Topic},
    store::NodeId,
};

use super::{
    BusFixture,
    reading::{next, next_wake, read_all, wake},
};

/// Whoever listens to a topic hears of it alone, also where names are alike.
pub async fn topics_do_not_mix<F: BusFixture>(fixture: F) {
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
    // The last one of each: whatever came to the wrong place has come before it.
    for topic in topics {
        there.publish(topic, wake("last", 1));
    }
    for (topic, subscription) in topics.iter().zip(&mut subscriptions) {
        assert_eq!(next_wake(subscription).await, wake(topic.to_string(), 1));
        assert_eq!(next_wake(subscription).await, wake("last", 1));
    }
}

/// The id of a task is kept verbatim. One that is too long for what carries it is as good as lost, and so it is said.
pub async fn any_text_may_be_the_id_of_a_task<F: BusFixture>(fixture: F) {
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

/// Two letters to one task may be one signal, but one comes after the last.
pub async fn a_letter_is_a_signal<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Node(NodeId(4));
    let mut subscription = here.subscribe(topic).await.unwrap();
    for _ in 0..3 {
        there.publish(topic, wake("task", 0));
        assert_eq!(next_wake(&mut subscription).await, wake("task", 0));
    }
}
