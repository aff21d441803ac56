//! The properties after all clients are done.

use std::collections::HashMap;

use nuncio_engine::{Record, TaskStore, lifecycle, store::Portion};
use nuncio_model::{MessageId, Scope, StreamResponse, Task, TaskId, TaskState};

use super::client::{Seen, World};
use crate::rigged::Rigged;

/// A task, derived from its log.
struct Story {
    records: Vec<Record>,
    /// The task after each record.
    states: Vec<Task>,
}

pub(super) async fn check(store: &Rigged, world: &World, tasks: &[Task]) {
    assert_eq!(store.at_work(), 0);
    let mut stories = HashMap::new();
    for task in tasks {
        stories.insert(task.id.clone(), story(store, task).await);
    }
    let all = world.seen.lock().unwrap();
    for seen in &*all {
        check_client(&seen.lock().unwrap(), &stories);
    }
}

/// The log has no gap, begins with the task, folds to the task, and ends with its only terminal record.
async fn story(store: &Rigged, task: &Task) -> Story {
    let records = store.inner().events_after(&Scope::open(), &task.id, 0, Portion::records(usize::MAX)).await.unwrap();
    let stored = store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap();
    assert_eq!(stored.sequence, records.len() as u64);
    let mut folded = Task::default();
    let mut states = Vec::new();
    for (record, sequence) in records.iter().zip(1..) {
        assert_eq!(record.sequence(), sequence);
        assert!(!folded.state().is_terminal(), "{record:?} comes after the end");
        lifecycle::apply(&mut folded, record).unwrap();
        states.push(folded.clone());
    }
    assert_eq!(folded, *task);
    assert_eq!(folded, *stored.task);
    assert!(folded.state().is_terminal());
    for message in &folded.history {
        assert_eq!(message.task_id.as_ref(), Some(&task.id));
        assert_eq!(message.context_id, task.context_id);
    }
    Story { records, states }
}

fn check_client(seen: &Seen, stories: &HashMap<TaskId, Story>) {
    for task in &seen.tasks {
        let story = stories.get(&task.id).expect("a client was given a task that is not there");
        assert!(story.states.contains(task), "a client was given a task that never was so: {task:?}");
        if seen.rests {
            assert!(task.state().is_terminal() || task.state().is_interrupted(), "{:?}", task.state());
        }
    }
    if let (Some(message), true) = (&seen.sent, seen.counts) {
        let story = seen.tasks.first().map(|task| &stories[&task.id]).expect("a task");
        assert_eq!(count(story, message), 1, "a message that counts is in the history once");
    }
    if seen.streams {
        check_stream(seen, stories);
    }
}

fn count(story: &Story, message: &MessageId) -> usize {
    let last = story.states.last().expect("a record");
    last.history.iter().filter(|known| known.message_id == *message).count()
}

/// A stream is a snapshot with the following log, or the log after the last event of the client, without a gap.
fn check_stream(seen: &Seen, stories: &HashMap<TaskId, Story>) {
    let Some(first) = seen.events.first() else { return };
    let (id, from) = match &first.response {
        StreamResponse::Message(_) => {
            assert_eq!(seen.events.len(), 1);
            assert!(seen.errors.is_empty());
            return;
        }
        StreamResponse::Task(task) => (&task.id, None),
        StreamResponse::StatusUpdate(update) => (&update.task_id, seen.last_event),
        StreamResponse::ArtifactUpdate(update) => (&update.task_id, seen.last_event),
    };
    let story = &stories[id];
    let mut rest = &seen.events[..];
    let mut last = from.unwrap_or_default();
    if let StreamResponse::Task(snapshot) = &first.response {
        last = first.sequence.unwrap();
        assert_eq!(*snapshot, story.states[usize::try_from(last).unwrap() - 1]);
        rest = &rest[1..];
    } else {
        assert!(from.is_some(), "a stream that does not begin with a task");
    }
    let updates = story.records.iter().filter(|record| record.sequence() > last).filter_map(Record::as_update);
    let mut state = None;
    for (event, update) in rest.iter().zip(updates.clone()) {
        assert_eq!((event.sequence, &event.response), (update.sequence, &update.response));
        if let StreamResponse::StatusUpdate(update) = &event.response {
            state = Some(update.status.state);
        }
    }
    assert!(rest.len() <= updates.clone().count());
    if seen.has_ended && seen.errors.is_empty() {
        let is_asked = seen.ends_when_asked && state == Some(TaskState::InputRequired);
        assert!(is_asked || rest.len() == updates.count(), "a stream ended before its task did: {state:?}");
    }
}
