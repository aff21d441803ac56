//! A task's events as one stream, over as many connections as it takes (sections 3.1.2, 3.1.6 and 3.5.2).

mod cursor;
mod machine;
mod news;
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

/// The events of one task in order, none twice, whatever becomes of connections.
///
/// A connection that breaks, or is silent for longer than [`Timeouts::stall`](crate::Timeouts::stall) says, is taken up
/// again by `SubscribeToTask`, after a delay that grows, with the place in the log that was reached; where that tells
/// nothing either, the task is read, which may have ended. What was missed comes as the events themselves where the
/// agent keeps them, else as a `task` snapshot. It ends when the task has ended, or when the agent closes the stream of
/// an interrupted one; [`Self::end`] says which. An error is the last item. Dropping it frees the connection and
/// changes nothing for the task.
#[must_use = "a stream does nothing unless it is read"]
pub struct Watch {
    events: Pin<Box<dyn Stream<Item = Result<Arc<StreamEvent>, ClientError>> + Send>>,
    progress: Progress,
}

/// Why a [`Watch`] is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The task has ended; with `Unspecified`, in a state that is not known here, by the agent's word that it was the
    /// last.
    Terminal(TaskState),
    /// The task waits for its client, and the agent closed the stream.
    Interrupted(TaskState),
    /// The agent answered with a bare message; there is no task.
    Message,
    /// The last item was an error that the agent told in the stream: what it says of the task, and would say again.
    Failed,
    /// The last item was an error that says nothing of the task: the stream broke and could not be taken up again, or
    /// what came cannot be read. [`Client::poll`](crate::Client::poll) may find out what becomes of the task.
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

    /// Why it is over; `None` while it is not.
    pub fn end(&self) -> Option<End> {
        self.progress.read(|seen| seen.end)
    }

    /// The task, once an event has named it.
    pub fn task_id(&self) -> Option<TaskId> {
        self.progress.read(|seen| seen.task.clone())
    }

    /// Whether a connection ended before the task did, so that the stream was or is to be taken up again.
    pub fn has_broken(&self) -> bool {
        self.progress.read(|seen| seen.has_broken)
    }

    /// For how long there has been no connection to the agent; `None` while there is one, or after the end. The stream
    /// tries to connect again while it is read.
    pub fn lost_for(&self) -> Option<Duration> {
        self.progress.read(|seen| seen.lost_since.filter(|_| seen.end.is_none())).map(|since| since.elapsed())
    }

    /// The task's state by the last event that told it.
    pub fn state(&self) -> Option<TaskState> {
        self.progress.read(|seen| seen.state)
    }

    /// The task and the place in its log that was reached, once an event has named the task: what
    /// [`Client::watch`](crate::Client::watch) goes on from.
    pub fn cursor(&self) -> Option<Cursor> {
        self.progress.read(|seen| Some(Cursor { task: seen.task.clone()?, sequence: seen.sequence }))
    }

    /// The place in the task's log that was reached, where the agent says it. Each event has its own
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
