//! A reader that reconnects many times.

use std::{sync::Arc, time::Duration};

use nuncio_engine::Limits;
use nuncio_model::{StreamEvent, StreamResponse};
use tokio::{sync::Semaphore, time::sleep};

use super::client::{Client, next};
use crate::{StoreFixture, random::Random};

const CHUNKS: usize = 2_000;
const CUTS: usize = 50;

/// The reader subscribes again with the number of its last event, and receives each event once.
pub async fn a_reader_with_fifty_reconnects_receives_each_event_once<F: StoreFixture>(fixture: F) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    // The window is small, so the store serves some of the events.
    let mut limits = Limits::default();
    (limits.window, limits.slow_reader) = (64, Duration::from_millis(1));
    let client = Client::of(fixture.open().await, limits, move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            let mut artifact = turn.artifact("out");
            for number in 0..CHUNKS {
                artifact.chunk(format!("{number}")).await?;
                if number % 40 == 0 {
                    sleep(Duration::from_millis(1)).await;
                }
            }
            gate.acquire().await?.forget();
            Ok(())
        }
    });
    let task = client.begin().await;
    let (mut random, mut seen, mut last) = (Random::new(7), Vec::new(), 0);
    for cut in 0..=CUTS {
        let mut events = client.subscribe(&task.id, Some(last)).await.unwrap();
        let count = if cut < CUTS { random.below(70) } else { CHUNKS };
        for _ in 0..count {
            if seen.len() == CHUNKS {
                opened.add_permits(1);
            }
            let Some(event) = next(&mut events).await else { break };
            let event = event.unwrap();
            assert_eq!(event.sequence, Some(last + 1));
            last += 1;
            seen.extend(number(&event));
        }
    }
    assert_eq!(seen, (0..CHUNKS).collect::<Vec<_>>());
    client.rest().await;
}

/// The number in the text of a chunk.
pub(super) fn number(event: &StreamEvent) -> Option<usize> {
    match &event.response {
        StreamResponse::ArtifactUpdate(update) => update.artifact.text().parse().ok(),
        _ => None,
    }
}
