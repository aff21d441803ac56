//! A reader that stops reading.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::future::join_all;
use nuncio_engine::Limits;
use nuncio_model::{ErrorKind, EventStream, StreamEvent, TaskId, resume};
use tokio::sync::Semaphore;

use super::client::{Client, assert_whole, next};
use crate::StoreFixture;

const EVENTS: usize = 5_000;

/// The number of events in memory for a slow reader. Events on their way from the agent to the readers are counted
/// separately.
const WINDOW: usize = 256;
const UNDER_WAY: usize = 1_024;

/// While a reader stalls, the other readers receive every event in time, and the number of events in memory is bounded.
/// The stalled reader receives all events later.
pub async fn a_stalled_reader_blocks_no_reader_and_misses_no_event<F: StoreFixture>(fixture: F) {
    let mut limits = Limits::default();
    (limits.window, limits.slow_reader) = (WINDOW, Duration::from_millis(50));
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let client = Client::of(fixture.open().await, limits, move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            gate.acquire().await?.forget();
            let mut artifact = turn.artifact("out");
            for number in 0..EVENTS {
                artifact.chunk(format!("{number:01024}")).await?;
            }
            // Wait until all readers have read every event.
            gate.acquire().await?.forget();
            Ok(())
        }
    });
    let task = client.begin().await;
    let mut stalled = client.subscribe(&task.id, None).await.unwrap();
    let first = next(&mut stalled).await.unwrap().unwrap();
    let mut readers = Vec::new();
    for _ in 0..3 {
        readers.push(client.subscribe(&task.id, None).await.unwrap());
    }
    opened.add_permits(1);
    let read = join_all(readers.iter_mut().map(chunks)).await;
    assert!(read.iter().all(|events| events.len() == EVENTS));
    let in_memory = read[0].iter().filter(|event| event.strong_count() > 0).count();
    // A store in memory has the events in memory anyway.
    if F::DURABLE {
        assert!(in_memory <= WINDOW + UNDER_WAY, "{in_memory} events of {EVENTS} are in memory");
    }
    let mut seen = vec![first];
    seen.extend(catch_up(&client, &task.id, &mut stalled, EVENTS).await);
    opened.add_permits(1);
    while let Some(event) = next(&mut stalled).await {
        seen.push(event.unwrap());
    }
    assert_whole(&seen);
    assert!(seen.windows(2).all(|pair| pair[0].sequence.unwrap() + 1 == pair[1].sequence.unwrap()));
    drop(readers);
    client.rest().await;
}

/// Reads all chunks.
async fn chunks(events: &mut EventStream) -> Vec<Weak<StreamEvent>> {
    let mut seen = Vec::new();
    while seen.len() < EVENTS {
        let event = next(events).await.unwrap().unwrap();
        if super::cuts::number(&event).is_some() {
            seen.push(Arc::downgrade(&event));
        }
    }
    seen
}

/// Reads a number of chunks. When the stream ends with an error, subscribes again with the last event number.
async fn catch_up(client: &Client, task: &TaskId, events: &mut EventStream, count: usize) -> Vec<Arc<StreamEvent>> {
    let (mut seen, mut found) = (Vec::<Arc<StreamEvent>>::new(), 0);
    while found < count {
        match next(events).await.unwrap() {
            Ok(event) => {
                found += usize::from(super::cuts::number(&event).is_some());
                seen.push(event);
            }
            Err(error) => {
                assert_eq!((error.kind(), error.metadata().get(resume::FACT)), (ErrorKind::ResourceExhausted, None));
                let last = seen.last().and_then(|event| event.sequence);
                *events = client.subscribe(task, last).await.unwrap();
            }
        }
    }
    seen
}
