//! Slow subscribers, and bounded memory.

use std::{
    future::poll_fn,
    task::Poll,
    time::{Duration, Instant},
};

use nuncio_engine::bus::{EventBus, Signal, Topic};

use super::{
    BusFixture,
    reading::{next_wake, numbered, read_all, read_to, wake},
};

/// More tasks than the queue of a subscription holds.
const MANY: usize = 50_000;

/// The largest accepted length of the queue of a subscription.
const BOUND: usize = 20_000;

/// A subscription that does not read loses signals and receives `Lost`. Other subscriptions lose nothing.
pub async fn a_slow_subscription_receives_lost_and_others_lose_nothing<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(1);
    let mut slow = here.subscribe(topic).await.unwrap();
    let mut quick = here.subscribe(topic).await.unwrap();
    let mut elsewhere = here.subscribe(Topic::Tasks(2)).await.unwrap();
    for group in 0..MANY / 500 {
        let tasks = (0..500).map(|number| numbered(group * 500 + number));
        for task in tasks.clone() {
            there.publish(topic, wake(task, 1));
        }
        read_all(&mut quick, tasks.map(|task| (task, 1)).collect()).await;
    }
    let before = read_to(&mut slow, &Signal::Lost).await;
    assert!(before.len() < BOUND, "{} signals waited", before.len());
    // Signals arrive again after `Lost`. The number of older signals in the queue is bounded, too.
    there.publish(topic, wake("last", 1));
    let after = read_to(&mut slow, &Signal::Wake(wake("last", 1))).await;
    assert!(after.len() < BOUND, "{} signals waited", after.len());
    assert!(!after.contains(&Signal::Lost), "`Lost` arrives once");
    there.publish(Topic::Tasks(2), wake("last", 1));
    assert_eq!(next_wake(&mut elsewhere).await, wake("last", 1));
}

/// `publish` queues the signal and returns.
pub async fn publish_does_not_wait<F: BusFixture>(fixture: F) {
    let (here, there) = (fixture.join().await, fixture.join().await);
    let mut subscription = here.subscribe(Topic::Tasks(1)).await.unwrap();
    let began = Instant::now();
    for number in 0..MANY {
        there.publish(Topic::Tasks(1), wake(numbered(number), 1));
        there.publish(Topic::Tasks(2), wake(numbered(number), 1));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    there.publish(Topic::Tasks(1), wake("last", 1));
    loop {
        match super::reading::next(&mut subscription).await {
            // The lost signals were published earlier, so a new signal must arrive.
            Some(Signal::Lost) => there.publish(Topic::Tasks(1), wake("last", 1)),
            Some(Signal::Wake(last)) if last == wake("last", 1) => break,
            other => assert!(other.is_some(), "the subscription ended"),
        }
    }
}

/// The future of `next` can be dropped between any two polls.
pub async fn the_future_of_next_can_be_dropped<F: BusFixture>(fixture: F) {
    const SIGNALS: usize = 2_000;
    let (here, there) = (fixture.join().await, fixture.join().await);
    let topic = Topic::Tasks(9);
    let mut subscription = here.subscribe(topic).await.unwrap();
    let publishing = tokio::spawn(async move {
        for number in 0..SIGNALS {
            there.publish(topic, wake(numbered(number), 1));
            if number % 3 == 0 {
                tokio::task::yield_now().await;
            }
        }
        there
    });
    let deadline = Instant::now() + super::reading::TIMEOUT;
    let mut seen = 0;
    while seen < SIGNALS {
        assert!(Instant::now() < deadline, "{seen} signals came");
        // Poll once, then drop the future if the signal is not ready.
        let mut next = subscription.next();
        match poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await {
            Poll::Ready(Some(Signal::Wake(wake))) => {
                assert_eq!(wake.task, numbered(seen));
                seen += 1;
            }
            Poll::Ready(other) => panic!("got {other:?} after {seen} signals"),
            Poll::Pending => {
                drop(next);
                tokio::task::yield_now().await;
            }
        }
    }
    publishing.await.unwrap();
}
