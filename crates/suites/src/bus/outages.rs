//! A node loses its connection, and reconnects.

use std::time::{Duration, Instant};

use nuncio_engine::bus::{EventBus, Signal, Topic};

use super::{
    OutageFixture,
    reading::{TIMEOUT, next, next_wake, numbered, read_all, read_to, subscribe_at_last, until_it_answers, wake},
};

const TOPIC: Topic = Topic::Tasks(1);

/// After an outage every subscription receives `Lost`, and later signals arrive.
pub async fn subscriptions_receive_lost_after_an_outage<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let there = fixture.join().await;
    let mut first = here.subscribe(TOPIC).await.unwrap();
    let mut second = here.subscribe(Topic::Tasks(2)).await.unwrap();
    link.cut().await;
    there.publish(TOPIC, wake("missed", 1));
    until_it_answers(&here, false).await;
    link.mend().await;
    for (topic, subscription) in [(TOPIC, &mut first), (Topic::Tasks(2), &mut second)] {
        for signal in read_to(subscription, &Signal::Lost).await {
            assert_eq!(signal, Signal::Wake(wake("missed", 1)));
        }
        there.publish(topic, wake("after", 1));
        assert_eq!(next_wake(subscription).await, wake("after", 1));
    }
}

/// During an outage `check` and `subscribe` fail, so no caller relies on a dead subscription.
pub async fn check_and_subscribe_fail_during_an_outage<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let there = fixture.join().await;
    here.check().await.unwrap();
    let before = here.subscribe(TOPIC).await.unwrap();
    link.cut().await;
    until_it_answers(&here, false).await;
    let began = Instant::now();
    assert!(here.subscribe(TOPIC).await.is_err(), "the topic already had a subscription");
    assert!(here.subscribe(Topic::Tasks(2)).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    drop(before);
    link.mend().await;
    until_it_answers(&here, true).await;
    let mut subscription = subscribe_at_last(&here, Topic::Tasks(2)).await;
    there.publish(Topic::Tasks(2), wake("after", 1));
    assert_eq!(next_wake(&mut subscription).await, wake("after", 1));
}

/// The outage of a node does not affect the other nodes.
pub async fn an_outage_of_a_node_affects_no_other_node<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let (there, elsewhere) = (fixture.join().await, fixture.join().await);
    let mut subscription = there.subscribe(TOPIC).await.unwrap();
    link.cut().await;
    until_it_answers(&here, false).await;
    elsewhere.publish(TOPIC, wake("task", 1));
    assert_eq!(next_wake(&mut subscription).await, wake("task", 1));
    link.mend().await;
    until_it_answers(&here, true).await;
    elsewhere.publish(TOPIC, wake("task", 2));
    assert_eq!(next_wake(&mut subscription).await, wake("task", 2));
    there.check().await.unwrap();
}

/// Nodes without an outage do not read the store again. Signals published during an outage, before or after its
/// detection, must therefore arrive later.
pub async fn signals_published_during_an_outage_arrive_later<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let there = fixture.join().await;
    let mut subscription = there.subscribe(TOPIC).await.unwrap();
    link.cut().await;
    for number in 0..1_000 {
        here.publish(TOPIC, wake(numbered(number), 1));
    }
    until_it_answers(&here, false).await;
    for number in 1_000..2_000 {
        here.publish(TOPIC, wake(numbered(number), 1));
    }
    here.publish(TOPIC, wake(numbered(0), 2));
    link.mend().await;
    let wanted = (0..2_000).map(|number| (numbered(number), if number == 0 { 2 } else { 1 }));
    read_all(&mut subscription, wanted.collect()).await;
}

/// `publish` does not wait, before and after the outage is detected.
pub async fn publish_does_not_wait_during_an_outage<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    link.cut().await;
    for _ in 0..2 {
        let began = Instant::now();
        for number in 0..20_000 {
            here.publish(TOPIC, wake(numbered(number), 1));
        }
        assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
        until_it_answers(&here, false).await;
    }
}

/// If the queue of unsent signals overflows, subscribers of the affected topic receive `Lost`.
pub async fn an_overflow_during_an_outage_is_reported_per_topic<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let there = fixture.join().await;
    let mut subscription = there.subscribe(TOPIC).await.unwrap();
    let mut elsewhere = there.subscribe(Topic::Tasks(2)).await.unwrap();
    link.cut().await;
    until_it_answers(&here, false).await;
    for number in 0..1_000_000 {
        here.publish(TOPIC, wake(numbered(number), 1));
    }
    link.mend().await;
    let before = read_to(&mut subscription, &Signal::Lost).await;
    assert!(before.len() < 100_000, "{} were kept", before.len());
    until_it_answers(&here, true).await;
    here.publish(TOPIC, wake("after", 1));
    read_to(&mut subscription, &Signal::Wake(wake("after", 1))).await;
    here.publish(Topic::Tasks(2), wake("after", 1));
    assert_eq!(next(&mut elsewhere).await, Some(Signal::Wake(wake("after", 1))), "the other topic lost nothing");
}

/// Each of several outages is reported, and no signal between them is lost.
pub async fn each_of_several_outages_is_reported<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let there = fixture.join().await;
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    for sequence in 1..=5 {
        there.publish(TOPIC, wake("task", sequence));
        assert_eq!(next_wake(&mut subscription).await, wake("task", sequence));
        link.cut().await;
        until_it_answers(&here, false).await;
        link.mend().await;
        assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
    }
}

/// `close` waits at most for its timeout. Without unsent signals `close` does not wait.
pub async fn closing_during_an_outage_respects_the_timeout<F: OutageFixture>(fixture: F) {
    let (here, link) = fixture.join_by_a_link().await;
    let mut subscription = here.subscribe(TOPIC).await.unwrap();
    link.cut().await;
    here.publish(TOPIC, wake("task", 1));
    until_it_answers(&here, false).await;
    let began = Instant::now();
    here.close(Duration::from_millis(300)).await;
    let took = began.elapsed();
    assert!((Duration::from_millis(300)..Duration::from_secs(3)).contains(&took), "{took:?}");
    assert_eq!(next(&mut subscription).await, None);

    let (idle, link) = fixture.join_by_a_link().await;
    link.cut().await;
    until_it_answers(&idle, false).await;
    let began = Instant::now();
    idle.close(TIMEOUT).await;
    assert!(began.elapsed() < TIMEOUT / 4, "{:?}", began.elapsed());
}
