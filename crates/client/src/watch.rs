//! The events of a task as one stream, over several connections (sections 3.1.2, 3.1.6 and 3.5.2).

mod cursor;
mod machine;
mod new_events;
mod progress;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt as _, stream};
use nuncio_model::{StreamEvent, TaskId, TaskState};

use crate::error::ClientError;

pub use cursor::Cursor;
pub(crate) use machine::Machine;
pub(crate) use progress::Progress;

/// The events of one task in order and without duplicates, also after broken connections.
///
/// If a connection breaks, or is silent for longer than [`Timeouts::stall`](crate::Timeouts::stall), the stream resumes
/// by `SubscribeToTask`. The delay grows with each attempt, and the request has the current position in the log. If the
/// new connection is silent, too, the client reads the task, which may have ended. The agent sends the missed events if
/// the agent stores events, else a `task` snapshot.
///
/// The stream ends when the task has ended, or when the agent closes the stream of an interrupted task; [`Self::end`]
/// returns the reason. An error is the last item. A drop of the stream closes the connection and does not affect the
/// task.
#[must_use = "a stream does nothing unless it is read"]
pub struct Watch {
    events: Pin<Box<dyn Stream<Item = Result<Arc<StreamEvent>, ClientError>> + Send>>,
    progress: Progress,
}

/// The reason for the end of a [`Watch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The task has ended. `Unspecified` is an unknown state that the agent has marked as the last.
    Terminal(TaskState),
    /// The task waits for its client, and the agent closed the stream.
    Interrupted(TaskState),
    /// The agent answered with a message; no task exists.
    Message,
    /// The last item was an error from the agent about the task. A repetition would have the same error.
    Failed,
    /// The last item was an error of the connection: the stream broke and could not be resumed, or an event cannot be
    /// read. The task may continue; [`Client::poll`](crate::Client::poll) can read its state.
    Lost,
}

impl Watch {
    pub(crate) fn new(machine: Machine) -> Self {
        let progress = machine.progress().clone();
        let events = stream::unfold(machine, |mut machine| async move {
            let item = machine.next().await?;
            Some((item, machine))
        });
        Self { events: Box::pin(events.fuse()), progress }
    }

    /// The reason for the end; `None` before the end.
    pub fn end(&self) -> Option<End> {
        self.progress.read(|seen| seen.end)
    }

    /// The id of the task, after an event with the id.
    pub fn task_id(&self) -> Option<TaskId> {
        self.progress.read(|seen| seen.task.clone())
    }

    /// Whether a connection ended before the task, so that the stream was resumed or will be resumed.
    pub fn has_broken(&self) -> bool {
        self.progress.read(|seen| seen.has_broken)
    }

    /// The time since the last connection; `None` while the stream has a connection, and after the end. The stream
    /// connects again only while the caller polls the stream.
    pub fn lost_for(&self) -> Option<Duration> {
        self.progress.read(|seen| seen.lost_since.filter(|_| seen.end.is_none())).map(|since| since.elapsed())
    }

    /// The last known state of the task.
    pub fn state(&self) -> Option<TaskState> {
        self.progress.read(|seen| seen.state)
    }

    /// The task and the current position in its log, after an event with the id of the task.
    /// [`Client::watch`](crate::Client::watch) can resume from this cursor.
    pub fn cursor(&self) -> Option<Cursor> {
        self.progress.read(|seen| Some(Cursor { task: seen.task.clone()?, sequence: seen.sequence }))
    }

    /// The current position in the task's log, if the agent numbers events. Each event has its own position
    /// ([`StreamEvent::sequence`]).
    pub fn sequence(&self) -> Option<u64> {
        self.progress.read(|seen| seen.sequence)
    }
}

impl Stream for Watch {
    type Item = Result<Arc<StreamEvent>, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("task", &self.task_id()).field("end", &self.end()).finish_non_exhaustive()
    }
}
