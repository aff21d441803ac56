//! Reading signals with a deadline.

use std::{collections::HashMap, time::Duration};

use nuncio_engine::bus::{EventBus, Signal, Subscription, Topic, Wake};
use nuncio_model::TaskId;
use tokio::time::{Instant, timeout, timeout_at};

/// The deadline for any step, also on a busy machine.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn wake(task: impl Into<TaskId>, sequence: u64) -> Wake {
    Wake { task: task.into(), sequence }
}

pub(super) fn numbered(number: usize) -> TaskId {
    TaskId::from(format!("task-{number}"))
}

/// The next signal.
pub(super) async fn next(subscription: &mut Box<dyn Subscription>) -> Option<Signal> {
    timeout(TIMEOUT, subscription.next()).await.expect("no signal before the deadline")
}

/// The next signal, which must be a wake.
pub(super) async fn next_wake(subscription: &mut Box<dyn Subscription>) -> Wake {
    match next(subscription).await {
        Some(Signal::Wake(wake)) => wake,
        other => panic!("expected a wake, got {other:?}"),
    }
}

/// Reads up to this signal, and returns all earlier signals.
pub(super) async fn read_to(subscription: &mut Box<dyn Subscription>, last: &Signal) -> Vec<Signal> {
    let mut before = Vec::new();
    loop {
        match next(subscription).await {
            Some(signal) if signal == *last => return before,
            Some(signal) => before.push(signal),
            None => panic!("the subscription ended before {last:?}"),
        }
    }
}

/// Reads until each task has reached its sequence number.
pub(super) async fn read_all(subscription: &mut Box<dyn Subscription>, wanted: HashMap<TaskId, u64>) {
    let mut wanted = wanted;
    let deadline = Instant::now() + TIMEOUT;
    while !wanted.is_empty() {
        match timeout_at(deadline, subscription.next()).await {
            Ok(Some(Signal::Wake(wake))) => {
                if wanted.get(&wake.task).is_some_and(|sequence| wake.sequence >= *sequence) {
                    wanted.remove(&wake.task);
                }
            }
            Ok(other) => panic!("got {other:?}, and {} tasks are missing", wanted.len()),
            Err(late) => panic!("{late}: {} tasks are missing, for example {:?}", wanted.len(), wanted.iter().next()),
        }
    }
}

/// Subscribes to a topic, and retries until `subscribe` succeeds.
pub(super) async fn subscribe_at_last<B: EventBus>(bus: &B, topic: Topic) -> Box<dyn Subscription> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match bus.subscribe(topic).await {
            Ok(subscription) => return subscription,
            Err(error) if Instant::now() > deadline => panic!("cannot subscribe: {error:?}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Waits until `check` succeeds, or until `check` fails.
pub(super) async fn until_it_answers<B: EventBus>(bus: &B, answers: bool) {
    let deadline = Instant::now() + TIMEOUT;
    while bus.check().await.is_ok() != answers {
        assert!(Instant::now() < deadline, "the bus should be {}", if answers { "there" } else { "away" });
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
