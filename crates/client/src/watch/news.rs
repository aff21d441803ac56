//! Whether a connection that took another up tells anything that the other did not. An agent that says the same each
//! time and closes is not asked for ever.

use std::sync::Arc;

use nuncio_model::StreamEvent;
use tokio::time::{Duration, Instant};

/// A connection that was open for as long is as good as one that told something: the task may be silent.
const LONG: Duration = Duration::from_secs(1);

/// Events that are compared. Behind them it is only counted.
const COMPARED: usize = 32;

/// What a connection has told, beside what the one before it had.
#[derive(Debug, Default)]
pub(super) struct News {
    before: Option<Received>,
    now: Received,
    begun: Option<Instant>,
}

#[derive(Debug, Default)]
struct Received {
    first: Vec<Arc<StreamEvent>>,
    count: usize,
}

impl News {
    /// A connection takes the one before it up.
    pub(super) fn begin(&mut self) {
        self.before = Some(std::mem::take(&mut self.now));
        self.begun = Some(Instant::now());
    }

    /// Whether the connection has told more with this event than the one before it did, which is so of all on the
    /// first.
    pub(super) fn record(&mut self, event: &Arc<StreamEvent>) -> bool {
        let place = self.now.count;
        self.now.count += 1;
        if place < COMPARED {
            self.now.first.push(Arc::clone(event));
        }
        let Some(before) = &self.before else { return true };
        let is_known = before.first.get(place).map_or(place < before.count, |it| it.response == event.response);
        if !is_known {
            // What follows is new, whatever it is.
            self.before = None;
        }
        !is_known
    }

    /// Whether the connection has told one event, and the one before it had told no other.
    pub(super) fn is_repeated_snapshot(&self) -> bool {
        self.now.count == 1 && self.before.as_ref().is_some_and(|before| before.count == 1)
    }

    /// Whether the connection has told nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.now.count == 0
    }

    /// Whether the connection that is over was open for long; told once.
    pub(super) fn take_lasted(&mut self) -> bool {
        self.begun.take().is_some_and(|begun| begun.elapsed() >= LONG)
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent};

    use super::*;

    fn record_all(news: &mut News, states: &[TaskState]) -> Vec<bool> {
        let event = |state: &TaskState| {
            let update = TaskStatusUpdateEvent {
                status: TaskStatus { state: *state, ..TaskStatus::default() },
                ..Default::default()
            };
            Arc::new(StreamEvent::new(None, StreamResponse::StatusUpdate(update)))
        };
        states.iter().map(|state| news.record(&event(state))).collect()
    }

    #[test]
    fn what_is_told_again_is_no_news() {
        use TaskState::{Completed, Submitted, Working};
        let mut news = News::default();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted]), [true, true], "the first connection");
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted]), [false, false]);
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted, Working, Submitted]), [false, false, true, true]);
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted]), [false], "less is no news either");
        news.begin();
        assert_eq!(record_all(&mut news, &[Completed]), [true]);
        assert!(!news.take_lasted());
    }

    #[test]
    fn long_ones_are_compared_as_far_as_they_are_kept_and_then_counted() {
        let mut news = News::default();
        record_all(&mut news, &[TaskState::Working; COMPARED + 2]);
        news.begin();
        let again = record_all(&mut news, &[TaskState::Working; COMPARED + 3]);
        assert_eq!(again.iter().position(|is_news| *is_news), Some(COMPARED + 2));
    }
}
