//! Detects whether a resumed connection has new events. An agent that sends the same events in each connection is not
//! asked without end.

use std::sync::Arc;

use nuncio_model::StreamEvent;
use tokio::time::{Duration, Instant};

/// A connection that was open for this time counts like a new event, because a task can be silent.
const LONG: Duration = Duration::from_secs(1);

/// The number of events that are compared. Further events are only counted.
const COMPARED: usize = 32;

/// The events of this connection, and of the previous connection.
#[derive(Debug, Default)]
pub(super) struct NewEvents {
    before: Option<Received>,
    now: Received,
    begun: Option<Instant>,
}

#[derive(Debug, Default)]
struct Received {
    first: Vec<Arc<StreamEvent>>,
    count: usize,
}

impl NewEvents {
    /// Starts a new connection.
    pub(super) fn begin(&mut self) {
        self.before = Some(std::mem::take(&mut self.now));
        self.begun = Some(Instant::now());
    }

    /// Records an event. Returns whether this connection has more or other events than the previous connection. All
    /// events of the first connection are new.
    pub(super) fn record(&mut self, event: &Arc<StreamEvent>) -> bool {
        let place = self.now.count;
        self.now.count += 1;
        if place < COMPARED {
            self.now.first.push(Arc::clone(event));
        }
        let Some(before) = &self.before else { return true };
        let is_known = before.first.get(place).map_or(place < before.count, |it| it.response == event.response);
        if !is_known {
            // All following events are new.
            self.before = None;
        }
        !is_known
    }

    /// Whether this connection and the previous connection had only one event each.
    pub(super) fn is_repeated_snapshot(&self) -> bool {
        self.now.count == 1 && self.before.as_ref().is_some_and(|before| before.count == 1)
    }

    /// Whether the connection had no event.
    pub(super) fn is_empty(&self) -> bool {
        self.now.count == 0
    }

    /// Whether the last connection was open for a long time. Returns true once per connection.
    pub(super) fn take_lasted(&mut self) -> bool {
        self.begun.take().is_some_and(|begun| begun.elapsed() >= LONG)
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent};

    use super::*;

    fn record_all(news: &mut NewEvents, states: &[TaskState]) -> Vec<bool> {
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
    fn repeated_events_are_not_new() {
        use TaskState::{Completed, Submitted, Working};
        let mut news = NewEvents::default();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted]), [true, true], "the first connection");
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted]), [false, false]);
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted, Submitted, Working, Submitted]), [false, false, true, true]);
        news.begin();
        assert_eq!(record_all(&mut news, &[Submitted]), [false], "fewer events are not new either");
        news.begin();
        assert_eq!(record_all(&mut news, &[Completed]), [true]);
        assert!(!news.take_lasted());
    }

    #[test]
    fn long_streams_are_compared_up_to_the_limit_and_then_counted() {
        let mut news = NewEvents::default();
        record_all(&mut news, &[TaskState::Working; COMPARED + 2]);
        news.begin();
        let again = record_all(&mut news, &[TaskState::Working; COMPARED + 3]);
        assert_eq!(again.iter().position(|is_new| *is_new), Some(COMPARED + 2));
    }
}
