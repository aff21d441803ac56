//! The task as the first event of a stream. A large one is made once for all who subscribe at the same place of the log,
//! so that many subscribers do not hold as many copies.

use std::sync::{Arc, Weak};

use nuncio_model::{StreamEvent, StreamResponse, Task, weight};
use parking_lot::Mutex;

/// A task that carries so many bytes is shared.
const LARGE: usize = 64 * 1024;

/// The last large event that somebody still has.
#[derive(Default)]
pub(crate) struct Snapshot(Mutex<Weak<StreamEvent>>);

impl Snapshot {
    /// The event with the task as of this record.
    pub(crate) fn event(&self, task: Arc<Task>, sequence: u64) -> Arc<StreamEvent> {
        let event = |task| Arc::new(StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task))));
        if weight::of_task(&task) < LARGE {
            return event(task);
        }
        // Held while the task is copied: others wait for the same.
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
    fn a_large_task_is_copied_once_for_those_who_subscribe_at_the_same_place() {
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
