//! The progress of a stream: detects duplicates and determines the meaning of the stream's end.

use std::sync::{Arc, Mutex, PoisonError};

use nuncio_model::{ContextId, StreamEvent, StreamResponse, TaskId, TaskState, TaskStatusUpdateEvent};
use nuncio_wire::dialect::is_marked_last;
use tokio::time::Instant;

use super::{Cursor, End};

/// The received facts of a task; shared between a stream and its reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) task: Option<TaskId>,
    /// The context of the task, if an event had the context.
    context: Option<ContextId>,
    pub(crate) state: Option<TaskState>,
    pub(crate) sequence: Option<u64>,
    /// The last number in this connection.
    last_here: Option<u64>,
    /// Whether the last event was the first event of a resumed connection.
    is_resumed: bool,
    /// Whether the agent declares that numbers are positions in the log.
    is_numbered: bool,
    pub(crate) end: Option<End>,
    is_message: bool,
    /// Whether the agent marked the last event of a task in an unknown state.
    is_last: bool,
    /// Whether the task was interrupted during the stream, not before.
    is_interrupted_live: bool,
    /// Whether the agent's numbers are not positions in a log: the numbers restart in each connection, or do not grow.
    /// Such numbers are ignored.
    is_unnumbered: bool,
    /// Whether a connection ended before the task.
    pub(crate) has_broken: bool,
    /// The time of the last disconnect, while the stream has no connection.
    pub(crate) lost_since: Option<Instant>,
}

impl Progress {
    pub(crate) fn behind(Cursor { task, sequence }: Cursor) -> Self {
        Self(Arc::new(Mutex::new(Seen { task: Some(task), sequence, ..Seen::default() })))
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Seen) -> T) -> T {
        read(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the agent declares its numbers as positions in its log.
    pub(super) fn set_numbered(&self) {
        self.change(|seen| seen.is_numbered = true);
    }

    /// Deletes the position, because the agent does not know the position. Returns whether a position existed.
    pub(super) fn forget_place(&self) -> bool {
        self.change(|seen| seen.sequence.take().is_some())
    }

    pub(super) fn end(&self, end: End) {
        self.change(|seen| seen.end = Some(end));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that a connection ended before the task.
    pub(super) fn note_broken(&self) {
        self.change(|seen| {
            seen.has_broken = true;
            seen.lost_since.get_or_insert_with(Instant::now);
        });
    }

    /// Records a new connection.
    pub(super) fn note_connected(&self) {
        self.change(|seen| seen.lost_since = None);
    }

    /// The task of an event, if this is not the task of the stream.
    pub(super) fn foreign(&self, event: &StreamEvent) -> Option<TaskId> {
        let named = match &event.response {
            StreamResponse::Task(task) => &task.id,
            StreamResponse::StatusUpdate(update) => &update.task_id,
            StreamResponse::ArtifactUpdate(update) => &update.task_id,
            StreamResponse::Message(_) => return None,
        };
        self.read(|seen| seen.task.as_ref().is_some_and(|own| own != named && !named.is_empty())).then(|| named.clone())
    }

    /// Adds the context to an event of an older version that sends the context only once.
    pub(super) fn complete(&self, event: &mut Arc<StreamEvent>) {
        let response = &event.response;
        if !matches!(response, StreamResponse::StatusUpdate(it) if it.context_id.is_empty())
            && !matches!(response, StreamResponse::ArtifactUpdate(it) if it.context_id.is_empty())
        {
            return;
        }
        let context = self.read(|seen| seen.context.clone()).unwrap_or_default();
        match Arc::get_mut(event).map(|event| &mut event.response) {
            Some(StreamResponse::StatusUpdate(update)) => update.context_id = context,
            Some(StreamResponse::ArtifactUpdate(update)) => update.context_id = context,
            _ => {}
        }
    }

    /// Whether an event is new. Records a new event. `is_first` means the first event of a resumed connection.
    pub(super) fn accept(&self, event: &StreamEvent, is_first: bool) -> bool {
        self.change(|seen| seen.accept(event, is_first))
    }

    /// The meaning of a connection's end; `None` if the task continues.
    pub(super) fn verdict(&self) -> Option<End> {
        self.read(|seen| match seen.state {
            _ if seen.is_message => Some(End::Message),
            Some(state) if state.is_terminal() || seen.is_last => Some(End::Terminal(state)),
            Some(state) if state.is_interrupted() => Some(End::Interrupted(state)),
            _ => None,
        })
    }
}

impl Progress {
    /// Whether the task was interrupted during the stream, so that the agent may have closed the stream.
    pub(super) fn is_interrupted_live(&self) -> bool {
        self.read(|seen| seen.is_interrupted_live)
    }
}

impl Seen {
    /// Whether the number of an event is greater than the previous number in its connection, as for positions in a log.
    /// After a resumption, the status of the snapshot may follow with the same number.
    fn grows(&mut self, event: &StreamEvent, is_first: bool) -> bool {
        let Some(next) = event.sequence else { return true };
        let before = self.last_here.replace(next).filter(|_| !is_first);
        let was_resumed = std::mem::replace(&mut self.is_resumed, is_first);
        let is_known = |update: &TaskStatusUpdateEvent| self.state == Some(update.status.state);
        match (&event.response, before) {
            (_, None) => true,
            (StreamResponse::StatusUpdate(update), Some(before)) if was_resumed && is_known(update) => next >= before,
            (_, Some(before)) => next > before,
        }
    }

    fn accept(&mut self, event: &StreamEvent, is_first: bool) -> bool {
        self.is_unnumbered |= !self.is_numbered && !self.grows(event, is_first);
        if let (Some(next), Some(last), false) = (event.sequence, self.sequence, self.is_unnumbered)
            && next <= last
        {
            match &event.response {
                // A snapshot is never older than the received events, unless the numbers restart in each connection.
                StreamResponse::Task(_) if is_first && next < last => self.is_unnumbered = true,
                // A snapshot with the same number has no new facts, unless the numbers restart in each connection.
                StreamResponse::Task(task) if is_first && self.state != Some(task.state()) => {}
                _ => return false,
            }
        }
        self.sequence = match &event.response {
            _ if self.is_unnumbered => None,
            // Numbers after a snapshot without a number may restart in each connection.
            StreamResponse::Task(_) if is_first => event.sequence,
            _ => event.sequence.or(self.sequence),
        };
        match &event.response {
            StreamResponse::Task(task) => {
                self.task = Some(task.id.clone());
                self.context.clone_from(&task.context_id);
                self.state = Some(task.state());
                self.is_last = is_marked_last(task.metadata.as_deref());
            }
            StreamResponse::StatusUpdate(update) => {
                self.task.get_or_insert_with(|| update.task_id.clone());
                self.state = Some(update.status.state);
                self.is_last = is_marked_last(update.metadata.as_deref());
                self.is_interrupted_live = update.status.state.is_interrupted();
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.task.get_or_insert_with(|| update.task_id.clone());
            }
            StreamResponse::Message(_) => self.is_message = true,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Task, TaskStatus};

    use super::*;

    fn status(sequence: impl Into<Option<u64>>, state: TaskState) -> StreamEvent {
        let update =
            TaskStatusUpdateEvent { task_id: "t".into(), status: TaskStatus::new(state), ..Default::default() };
        StreamEvent::new(sequence.into(), StreamResponse::StatusUpdate(update))
    }

    fn snapshot(sequence: impl Into<Option<u64>>, state: TaskState) -> StreamEvent {
        let task = Task { id: "t".into(), status: TaskStatus::new(state), ..Default::default() };
        StreamEvent::new(sequence.into(), StreamResponse::Task(task))
    }

    #[test]
    fn received_events_are_not_returned_again() {
        let progress = Progress::default();
        assert!(progress.accept(&snapshot(1, TaskState::Submitted), false));
        assert!(progress.accept(&status(2, TaskState::Working), false));
        assert!(!progress.accept(&snapshot(2, TaskState::Working), true));
        assert!(!progress.accept(&status(2, TaskState::Working), false));
        assert!(progress.accept(&snapshot(5, TaskState::Completed), true));
        assert_eq!(progress.verdict(), Some(End::Terminal(TaskState::Completed)));
    }

    #[test]
    fn numbers_that_restart_with_each_connection_hide_no_event() {
        let progress = Progress::default();
        progress.accept(&snapshot(1, TaskState::Submitted), false);
        progress.accept(&status(2, TaskState::Working), false);
        assert!(progress.accept(&snapshot(1, TaskState::Working), true));
        assert!(progress.accept(&status(2, TaskState::Completed), false));
    }

    #[test]
    fn numbers_that_do_not_grow_hide_no_event() {
        for numbers in [[10, 20, 20, 20, 30], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1], [2, 1, 7, 8, 9]] {
            let progress = Progress::default();
            for number in numbers {
                assert!(progress.accept(&status(number, TaskState::Working), false), "{numbers:?}");
            }
            assert_eq!(progress.read(|seen| seen.sequence), None, "there is no place to go on from");
        }
        // If the agent declares numbers as positions, duplicates are detected.
        let progress = Progress::default();
        progress.set_numbered();
        assert!(progress.accept(&status(7, TaskState::Working), false));
        assert!(!progress.accept(&status(7, TaskState::Working), false));
        assert_eq!(progress.read(|seen| seen.sequence), Some(7));
    }

    #[test]
    fn repeated_events_of_a_connection_are_not_returned_twice() {
        let progress = Progress::default();
        assert!([1, 2, 3].into_iter().all(|number| progress.accept(&status(number, TaskState::Working), false)));
        let again = [2, 3, 4].map(|number| progress.accept(&status(number, TaskState::Working), number == 2));
        assert_eq!(again, [false, false, true]);
        assert_eq!(progress.read(|seen| seen.sequence), Some(4));
    }

    #[test]
    fn events_without_numbers_are_all_returned() {
        let progress = Progress::default();
        assert!(progress.accept(&snapshot(None, TaskState::Working), false));
        assert_eq!(progress.verdict(), None);
        assert!(progress.accept(&snapshot(None, TaskState::Working), true));
        assert!(progress.accept(&status(None, TaskState::InputRequired), false));
        assert_eq!(progress.verdict(), Some(End::Interrupted(TaskState::InputRequired)));
    }
}
