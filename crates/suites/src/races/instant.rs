//! Agents that finish within a millisecond.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use nuncio_engine::Limits;
use nuncio_model::{ErrorKind, StreamResponse, TaskState, resume};
use tokio::task::yield_now;

use super::client::{Client, all, assert_whole, within};
use crate::StoreFixture;

/// The number of agents, and of agents at the same time.
const AGENTS: usize = 1_000;
const AT_A_TIME: usize = 8;

/// Builds an engine with an agent that finishes at its first, second or third poll.
async fn client<F: StoreFixture>(fixture: &F) -> Client {
    let turns = AtomicUsize::new(0);
    Client::of(fixture.open().await, Limits::default(), move |turn| {
        let pauses = turns.fetch_add(1, Ordering::Relaxed) % 3;
        async move {
            for _ in 0..pauses {
                yield_now().await;
            }
            turn.artifact("out").finish("x").await?;
            turn.complete("done").await
        }
    })
}

/// Runs `once` 1,000 times, 8 at a time, and waits until the engine is idle.
async fn each<F: StoreFixture>(fixture: F, once: impl AsyncFn(&Client)) {
    let client = client(&fixture).await;
    for _ in 0..AGENTS / AT_A_TIME {
        join_all((0..AT_A_TIME).map(|_| once(&client))).await;
    }
    client.rest().await;
}

/// The stream of a message contains the whole task and ends.
pub async fn instant_agents_are_streamed_to_their_end<F: StoreFixture>(fixture: F) {
    each(fixture, async |client| {
        let events = all(client.stream().await).await;
        assert_whole(&events);
        assert_eq!(events.len(), 3, "{events:?}");
        assert!(matches!(events[0].response, StreamResponse::Task(_)));
    })
    .await;
}

/// A subscription either returns the remaining events of the task or reports that the task has ended, with and without
/// a last event number.
pub async fn instant_agents_are_subscribed_to_until_their_end<F: StoreFixture>(fixture: F) {
    each(fixture, async |client| {
        let task = client.begin().await;
        for last_event in [None, Some(1)] {
            match client.subscribe(&task.id, last_event).await {
                Ok(events) => {
                    let events = all(events).await;
                    assert_whole(&events);
                    if let Some(last) = last_event {
                        assert_eq!(events[0].sequence, Some(last + 1), "{events:?}");
                    }
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
                    let is_expired = error.metadata().get(resume::FACT).is_some_and(|fact| fact == resume::EXPIRED);
                    assert_eq!(is_expired, last_event.is_some(), "{error:?}");
                    assert_eq!(client.get(&task.id).await.state(), TaskState::Completed);
                }
            }
        }
    })
    .await;
}

/// A client that polls sees the completed task.
pub async fn instant_agents_are_polled_to_their_end<F: StoreFixture>(fixture: F) {
    each(fixture, async |client| {
        let task = client.begin().await;
        let task = within(Box::pin(async {
            loop {
                let task = client.get(&task.id).await;
                if task.state().is_terminal() {
                    return task;
                }
                yield_now().await;
            }
        }))
        .await;
        assert_eq!((task.state(), &*task.artifacts[0].text()), (TaskState::Completed, "x"));
    })
    .await;
}
