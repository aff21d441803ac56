//! How far a stream has come: what filters duplicates and decides what its end means.

use std::sync::{Arc, Mutex, PoisonError};

use nuncio_model::{ContextId, StreamEvent, StreamResponse, TaskId, TaskState, TaskStatusUpdateEvent};
use nuncio_wire::dialect::is_marked_last;
use tokio::time::Instant;

use super::{Cursor, End};

/// What was seen of a task; shared between a stream and its reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) task: Option<TaskId>,
    /// Its context, where the stream told it.
    context: Option<ContextId>,
    pub(crate) state: Option<TaskState>,
    pub(crate) sequence: Option<u64>,
    /// The last number on this connection.
    last_here: Option<u64>,
    /// It was the first of a connection that took another up.
    is_resumed: bool,
    /// Numbers are places in the log, by the agent's word.
    is_numbered: bool,
    pub(crate) end: Option<End>,
    is_message: bool,
    /// The agent said that nothing more will come, of a task whose state is not known.
    is_last: bool,
    /// The task was interrupted while it was watched, not before.
    is_interrupted_live: bool,
    /// The agent's numbers are no places in a log: they begin anew with each connection, or do not grow. They tell
    /// nothing.
    is_unnumbered: bool,
    /// A connection ended before the task did.
    pub(crate) has_broken: bool,
    /// Since when there has been no connection.
    pub(crate) lost_since: Option<Instant>,
}

impl Progress {
    pub(crate) fn behind(Cursor { task, sequence }: Cursor) -> Self {
        Self(Arc::new(Mutex::new(Seen { task: Some(task), sequence, ..Seen::default() })))
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Seen) -> T) -> T {
        read(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The agent says that the numbers of its events are places in its log.
    pub(super) fn set_numbered(&self) {
        self.change(|seen| seen.is_numbered = true);
    }

    /// Takes note that the place that was reached means nothing to the agent. Whether there was one.
    pub(super) fn forget_place(&self) -> bool {
        self.change(|seen| seen.sequence.take().is_some())
    }

    pub(super) fn end(&self, end: End) {
        self.change(|seen| seen.end = Some(end));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes note that a connection ended before the task did.
    pub(super) fn note_broken(&self) {
        self.change(|seen| {
            seen.has_broken = true;
            seen.lost_since.get_or_insert_with(Instant::now);
        });
    }

    /// Takes note that there is a connection again.
    pub(super) fn note_connected(&self) {
        self.change(|seen| seen.lost_since = None);
    }

    /// The task of an event, where that is not the task of the stream.
    pub(super) fn foreign(&self, event: &StreamEvent) -> Option<TaskId> {
        let named = match &event.response {
            StreamResponse::Task(task) => &task.id,
            StreamResponse::StatusUpdate(update) => &update.task_id,
            StreamResponse::ArtifactUpdate(update) => &update.task_id,
            StreamResponse::Message(_) => return None,
        };
        self.read(|seen| seen.task.as_ref().is_some_and(|own| own != named && !named.is_empty())).then(|| named.clone())
    }

    /// Adds the context to an event of an older version whose peer says it only once.
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

    /// Whether the event is new; if so it is counted. `is_first` of a connection that took another up.
    pub(super) fn accept(&self, event: &StreamEvent, is_first: bool) -> bool {
        self.change(|seen| seen.accept(event, is_first))
    }

    /// What the end of a connection means; `None` where the task goes on.
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
    /// Whether the task was interrupted while it was watched, so that the agent may well have closed the stream.
    pub(super) fn is_interrupted_live(&self) -> bool {
        self.read(|seen| seen.is_interrupted_live)
    }
}

impl Seen {
    /// Whether the event's number is beyond the one before it on its connection, as the places in a log are. The
    /// snapshot with which a task is taken up again may be followed by the status that it has.
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
                // A snapshot is never older than what was seen, unless the numbers are the connection's own.
                StreamResponse::Task(_) if is_first && next < last => self.is_unnumbered = true,
                // One as old tells nothing new, or the numbers are the connection's own.
                StreamResponse::Task(task) if is_first && self.state != Some(task.state()) => {}
                _ => return false,
            }
        }
        self.sequence = match &event.response {
            _ if self.is_unnumbered => None,
            // The numbers after a snapshot without one may be the connection's own.
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
    fn what_was_seen_is_not_passed_on_again() {
        let progress = Progress::default();
        assert!(progress.accept(&snapshot(1, TaskState::Submitted), false));
        assert!(progress.accept(&status(2, TaskState::Working), false));
        assert!(!progress.accept(&snapshot(2, TaskState::Working), true));
        assert!(!progress.accept(&status(2, TaskState::Working), false));
        assert!(progress.accept(&snapshot(5, TaskState::Completed), true));
        assert_eq!(progress.verdict(), Some(End::Terminal(TaskState::Completed)));
    }

    #[test]
    fn numbers_that_begin_anew_with_each_connection_hide_nothing() {
        let progress = Progress::default();
        progress.accept(&snapshot(1, TaskState::Submitted), false);
        progress.accept(&status(2, TaskState::Working), false);
        assert!(progress.accept(&snapshot(1, TaskState::Working), true));
        assert!(progress.accept(&status(2, TaskState::Completed), false));
    }

    #[test]
    fn numbers_that_do_not_grow_hide_nothing() {
        for numbers in [[10, 20, 20, 20, 30], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1], [2, 1, 7, 8, 9]] {
            let progress = Progress::default();
            for number in numbers {
                assert!(progress.accept(&status(number, TaskState::Working), false), "{numbers:?}");
            }
            assert_eq!(progress.read(|seen| seen.sequence), None, "there is no place to go on from");
        }
        // Where they are places by the agent's word, what has been seen is not told again.
        let progress = Progress::default();
        progress.set_numbered();
        assert!(progress.accept(&status(7, TaskState::Working), false));
        assert!(!progress.accept(&status(7, TaskState::Working), false));
        assert_eq!(progress.read(|seen| seen.sequence), Some(7));
    }

    #[test]
    fn what_a_connection_tells_again_is_not_passed_on_twice() {
        let progress = Progress::default();
        assert!([1, 2, 3].into_iter().all(|number| progress.accept(&status(number, TaskState::Working), false)));
        let again = [2, 3, 4].map(|number| progress.accept(&status(number, TaskState::Working), number == 2));
        assert_eq!(again, [false, false, true]);
        assert_eq!(progress.read(|seen| seen.sequence), Some(4));
    }

    #[test]
    fn events_without_numbers_are_all_passed_on() {
        let progress = Progress::default();
        assert!(progress.accept(&snapshot(None, TaskState::Working), false));
        assert_eq!(progress.verdict(), None);
        assert!(progress.accept(&snapshot(None, TaskState::Working), true));
        assert!(progress.accept(&status(None, TaskState::InputRequired), false));
        assert_eq!(progress.verdict(), Some(End::Interrupted(TaskState::InputRequired)));
    }
}
