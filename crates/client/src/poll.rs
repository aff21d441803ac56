//! Reads a task at intervals until the task has ended, without a stream.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};
use nuncio_model::{ErrorKind, Task, TaskState, TaskStatus, op::GetTaskRequest};

use crate::{client::Client, error::ClientError, failure::passes};

/// The number of consecutive failures that ends a poll.
const MAX_FAILURES: u32 = 3;

/// The number of consecutive equal answers with an unknown state that ends a poll.
const UNKNOWN: u32 = 15;

/// Reads a task at intervals until the task has ended or is interrupted. Created by [`Client::poll`].
///
/// An unknown state of an agent of 1.0, `TASK_STATE_UNSPECIFIED`, is neither an end nor an interruption. The poll reads
/// the task up to 15 more times while the task does not change, and then ends. `unknown` of an agent before 1.0 ends
/// the poll at once, because these versions count `unknown` as an end of a task.
///
/// A drop of [`Self::next`] during its wait is safe.
#[derive(Debug)]
pub struct Poll {
    client: Client,
    request: GetTaskRequest,
    interval: Duration,
    wait: Duration,
    failures: u32,
    is_over: bool,
    /// Whether an earlier interruption is ignored.
    is_through: bool,
    /// The status of the task before the turn of interest.
    before: Option<TaskStatus>,
    /// The task in an unknown state, and the number of equal answers.
    unknown: Option<(Task, u32)>,
}

impl Poll {
    pub(crate) fn new(client: Client, request: GetTaskRequest) -> Self {
        let interval = Duration::from_secs(2);
        Self {
            client,
            request,
            interval,
            wait: Duration::ZERO,
            failures: 0,
            is_over: false,
            is_through: false,
            before: None,
            unknown: None,
        }
    }

    /// Sets the interval. By default 2 s.
    pub fn every(mut self, interval: Duration) -> Self {
        // A minimum, so that the loop always pauses.
        self.interval = interval.max(Duration::from_millis(10));
        self
    }

    /// Waits one interval before the first read, too.
    pub fn after_a_pause(mut self) -> Self {
        self.wait = self.interval;
        self
    }

    /// Continues if the task is already interrupted, until the next turn. An interruption counts if its status differs
    /// from `before`, or from the status of the first answer if `before` is `None`.
    pub fn through(mut self, before: Option<TaskStatus>) -> Self {
        self.is_through = true;
        self.before = before;
        self
    }

    /// The task at the next interval. `None` after the last item: an ended or interrupted task, `unknown` of an agent
    /// before 1.0, or an error.
    ///
    /// If the agent cannot be reached, or reports a temporary error (`Unavailable`, `ResourceExhausted`,
    /// `DeadlineExceeded`, `Internal`), the poll tries up to three times in a row, with longer pauses. Any other error
    /// is returned at once.
    pub async fn next(&mut self) -> Option<Result<Task, ClientError>> {
        if self.is_over {
            return None;
        }
        loop {
            tokio::time::sleep(self.wait).await;
            match self.client.call(self.request.clone()).await {
                Ok(task) => {
                    self.failures = 0;
                    self.wait = self.interval;
                    self.is_over = (self.client.is_settled(task.state()) && !self.note_earlier_interruption(&task))
                        || self.count_unknown(&task);
                    return Some(Ok(task));
                }
                Err(error) if is_transient(&error) && self.failures + 1 < MAX_FAILURES => {
                    tracing::debug!(%error, "the task could not be read");
                    self.failures += 1;
                    let longer = Backoff { first: self.interval, longest: Duration::MAX, jitter: Jitter::None };
                    self.wait = longer.delay(self.failures);
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Counts equal answers with an unknown state. Returns whether the limit is reached.
    fn count_unknown(&mut self, task: &Task) -> bool {
        self.unknown = match self.unknown.take() {
            _ if task.state() != TaskState::Unspecified => None,
            Some((before, times)) if before == *task => Some((before, times + 1)),
            _ => Some((task.clone(), 0)),
        };
        self.unknown.as_ref().is_some_and(|(_, times)| *times >= UNKNOWN)
    }

    /// Whether the interruption of a task is the earlier interruption. Records the status of the first answer.
    fn note_earlier_interruption(&mut self, task: &Task) -> bool {
        if !self.is_through {
            return false;
        }
        let before = self.before.get_or_insert_with(|| task.status.clone());
        task.state().is_interrupted() && *before == task.status
    }
}

fn is_transient(error: &ClientError) -> bool {
    match error {
        ClientError::Transport(failure) => failure.is_transient(),
        // An internal error of an agent may concern one request only.
        ClientError::Agent(error) => passes(error.kind()) || error.kind() == ErrorKind::Internal,
        _ => false,
    }
}
