//! The task as the first event of a stream. Subscribers at the same sequence number share a large event, so that many
//! subscribers do not need many copies.

use std::sync::{Arc, Weak};

use nuncio_model::{StreamEvent, StreamResponse, Task, weight};
use parking_lot::Mutex;

/// A task of this size or more is shared.
const LARGE: usize = 64 * 1024;

/// The last large event, while a reader uses the event.
#[derive(Default)]
pub(crate) struct Snapshot(Mutex<Weak<StreamEvent>>);

impl Snapshot {
    /// The event with the task at this record.
    pub(crate) fn event(&self, task: Arc<Task>, sequence: u64) -> Arc<StreamEvent> {
        let event = |task| Arc::new(StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task))));
        if weight::of_task(&task) < LARGE {
            return event(task);
        }
        // Locked during the copy of the task, so that other subscribers wait for the same event.
        let mut last = self.0.lock();
        if let Some(last) = last.upgrade().filter(|last| last.sequence == Some(sequence)) {
            return last;
        }
        let event = event(task);
        event.keep_encodings();
        *last = Arc::downgrade(&event);
        event
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Artifact, Part};

    use super::*;

    #[test]
    fn a_large_task_is_copied_once_for_subscribers_at_the_same_record() {
        let snapshot = Snapshot::default();
        let task = |length| {
            let artifacts = vec![Artifact::new("a", vec![Part::text("x".repeat(length))])];
            Arc::new(Task { artifacts, ..Task::new("t".into(), "c".into()) })
        };
        let (small, large) = (task(10), task(LARGE));
        let event = |task: &Arc<Task>, sequence| snapshot.event(Arc::clone(task), sequence);
        assert!(!Arc::ptr_eq(&event(&small, 1), &event(&small, 1)));
        let first = event(&large, 1);
        assert!(Arc::ptr_eq(&first, &event(&large, 1)) && first.keeps_encodings());
        let next = event(&large, 2);
        assert_eq!((first.sequence, next.sequence), (Some(1), Some(2)));
        assert!(Arc::ptr_eq(&next, &event(&large, 2)));
    }
}
