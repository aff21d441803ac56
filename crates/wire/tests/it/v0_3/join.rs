//! Joins a task if the stream does not begin with the task. No event is lost, and no event is delivered twice.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use nuncio_model::{
    Artifact, Error, EventStream, Part, Parts, Reply, StreamEvent, StreamResponse, Task, TaskState, TaskStatus,
    Timestamp, op,
};
use nuncio_wire::{Version, dialect};
use proptest::prelude::*;

use super::{
    caller::Prepared,
    serve::{chunk, status, task},
};

/// Events before and after the read of the task.
struct Paused {
    first: VecDeque<StreamResponse>,
    has_waited: bool,
    rest: VecDeque<StreamResponse>,
}

impl Stream for Paused {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = |event| Poll::Ready(Some(Ok(Arc::new(StreamEvent::new(None, event)))));
        if let Some(first) = self.first.pop_front() {
            return event(first);
        }
        if !std::mem::replace(&mut self.has_waited, true) {
            return Poll::Pending;
        }
        self.rest.pop_front().map_or(Poll::Ready(None), event)
    }
}

/// The events that a subscriber gets if the task is read with this state.
fn received(read: Task, first: Vec<StreamResponse>, rest: Vec<StreamResponse>) -> Vec<StreamResponse> {
    let events = Paused { first: first.into(), has_waited: false, rest: rest.into() };
    let peer = Prepared::with([Ok(Reply::Events(Box::pin(events))), Ok(Reply::Task(read.into()))]);
    let reply = peer.ask(dialect(Version::V0_3), op::SubscribeToTaskRequest::new("t"));
    let mut events: EventStream = reply.unwrap().try_into().unwrap();
    let mut all = Vec::new();
    loop {
        match events.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(event)) => all.push(event.unwrap().response.clone()),
            Poll::Ready(None) => return all,
            Poll::Pending => {}
        }
    }
}

/// A running task with these chunks of an artifact.
fn at_work(pieces: &[&str]) -> Task {
    let StreamResponse::Task(mut task) = task(TaskState::Working) else { unreachable!() };
    if !pieces.is_empty() {
        task.artifacts = vec![Artifact::new("a", pieces.iter().map(|text| Part::text(*text)).collect::<Parts>())];
    }
    task
}

fn pieces(texts: &[&str], from: usize) -> Vec<StreamResponse> {
    texts.iter().enumerate().skip(from).map(|(place, text)| chunk(text, place > 0)).collect()
}

/// The chunks that all events together produce.
fn folded(events: &[StreamResponse]) -> Vec<String> {
    let mut parts: Vec<Part> = Vec::new();
    for event in events {
        match event {
            StreamResponse::Task(task) => parts = task.artifacts.iter().flat_map(|it| it.parts.clone()).collect(),
            StreamResponse::ArtifactUpdate(update) => {
                if !update.append {
                    parts.clear();
                }
                parts.extend(update.artifact.parts.iter().map(Part::from));
            }
            _ => {}
        }
    }
    parts.iter().map(|part| part.as_text().unwrap_or_default().to_owned()).collect()
}

proptest! {
    /// The start of the stream, the read and the answer can happen at any time, with one restriction: either a chunk
    /// that is in both arrived before the answer, or no chunk is in both.
    #[test]
    fn distinct_chunks_are_delivered_once(total in 0_usize..12, places in [0_usize..13, 0..13, 0..13]) {
        let texts: Vec<String> = (0..total).map(|number| format!("piece {number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut places = places.map(|place| place.min(total));
        places.sort_unstable();
        let [began, one, other] = places;
        for (read, answered) in [(one, other), (other, one)] {
            if answered == began && read > began {
                continue;
            }
            let mut rest = pieces(&texts, answered);
            rest.push(status(TaskState::Completed));
            let first = pieces(&texts[..answered], began);
            let events = received(at_work(&texts[..read]), first, rest);
            prop_assert_eq!(folded(&events), &texts[..], "{} {} {}", began, read, answered);
            prop_assert_eq!(events.last(), Some(&status(TaskState::Completed)));
        }
    }
}

#[test]
fn equal_chunks_count_as_chunks_of_the_task() {
    let end = || vec![status(TaskState::Completed)];
    // Two chunks existed before the stream began, and the stream delivered the third.
    let events = received(at_work(&[".", ".", "."]), vec![chunk(".", true)], end());
    assert_eq!(folded(&events), [".", ".", "."]);
    // A chunk that arrives after the read is new, even if its text is equal.
    let later = vec![chunk(".", true), status(TaskState::Completed)];
    assert_eq!(folded(&received(at_work(&[".", "."]), vec![], later)), [".", ".", "."]);
    // The first chunk is equal, but the following chunk does not continue the artifact. So the first chunk is new.
    let events =
        received(at_work(&["x", "y"]), vec![chunk("x", true)], vec![chunk("z", true), status(TaskState::Completed)]);
    assert_eq!(folded(&events), ["x", "y", "x", "z"]);
    let events = received(at_work(&["x", "y"]), vec![chunk("x", true)], end());
    assert_eq!(folded(&events), ["x", "y", "x"]);
    assert_eq!(events.last(), Some(&status(TaskState::Completed)));
}

#[test]
fn a_replaced_artifact_has_the_content_of_the_stream() {
    let rest = vec![chunk("c", true), status(TaskState::Completed)];
    for first in [vec![chunk("new", false)], vec![chunk("b", true), chunk("new", false)]] {
        assert_eq!(folded(&received(at_work(&["a", "b"]), first, rest.clone())), ["new", "c"]);
    }
}

#[test]
fn statuses_older_than_the_task_are_not_delivered() {
    let at = |state, seconds: i64| {
        let StreamResponse::StatusUpdate(mut update) = status(state) else { unreachable!() };
        update.status.timestamp = Some(Timestamp::from_parts(seconds, 0).unwrap());
        update
    };
    let (working, asks) = (at(TaskState::Working, 1), at(TaskState::InputRequired, 2));
    let events = |of: &[&nuncio_model::TaskStatusUpdateEvent]| {
        of.iter().map(|update| StreamResponse::StatusUpdate((*update).clone())).collect::<Vec<_>>()
    };
    let read = Task { status: asks.status.clone(), ..at_work(&[]) };
    // An old status is recognized by its time, or by equality with the status of the task.
    assert_eq!(received(read.clone(), events(&[&working]), vec![]).len(), 1);
    assert_eq!(received(read.clone(), events(&[&working, &asks]), vec![]).len(), 1);
    let again = at(TaskState::Working, 3);
    assert_eq!(received(read.clone(), events(&[&working, &asks, &again]), vec![])[1..], events(&[&again]));
    // A task that has ended gets no more events.
    let ended = Task { status: TaskStatus::new(TaskState::Failed), ..read };
    assert_eq!(received(ended.clone(), events(&[&working]), events(&[&asks])), [StreamResponse::Task(ended)]);
}
