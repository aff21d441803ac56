//! Asking for a task until it has ended: no stream needed.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};
use nuncio_model::{ErrorKind, Task, TaskState, TaskStatus, op::GetTaskRequest};

use crate::{client::Client, error::ClientError, failure::passes};

/// How many answers in a row may fail.
const MAX_FAILURES: u32 = 3;

/// How many answers in a row may be the same with a state that is not known.
const UNKNOWN: u32 = 15;

/// Reads a task at intervals until it has ended or is interrupted. Made by [`Client::poll`].
///
/// A state that is not known, `TASK_STATE_UNSPECIFIED`, is neither: it is asked about 15 times more as long as nothing
/// of the task changes, and is then an end. That of an agent before 1.0, `unknown`, is an end at once: those versions
/// count it among the ends of a task.
///
/// [`Self::next`] may be dropped while it waits.
#[derive(Debug)]
pub struct Poll {
    client: Client,
    request: GetTaskRequest,
    interval: Duration,
    wait: Duration,
    failures: u32,
    is_over: bool,
    /// Whether an interruption from before does not count.
    is_through: bool,
    /// The status that the task had before what is waited for.
    before: Option<TaskStatus>,
    /// The task in a state that is not known, and how often it was the same.
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

    /// Asks this often. By default every 2 s.
    pub fn every(mut self, interval: Duration) -> Self {
        // Never without a pause.
        self.interval = interval.max(Duration::from_millis(10));
        self
    }

    /// Waits an interval before the first question too.
    pub fn after_a_pause(mut self) -> Self {
        self.wait = self.interval;
        self
    }

    /// Goes on where the task is interrupted already, until the turn after that: an interruption counts once its status
    /// is another than this, or than that of the first answer where none is given.
    pub fn through(mut self, before: Option<TaskStatus>) -> Self {
        self.is_through = true;
        self.before = before;
        self
    }

    /// The task at the next interval; `None` once it was given as ended or interrupted, or of an agent before 1.0 as
    /// `unknown`, or an error was given.
    ///
    /// An agent that cannot be reached, or fails to answer by its own word (`Unavailable`, `ResourceExhausted`,
    /// `DeadlineExceeded`, `Internal`), is asked up to three times in a row, after longer pauses. Any other error is
    /// given at once.
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

    /// Whether a task was in the same state, which is not known, for all that it was asked.
    fn count_unknown(&mut self, task: &Task) -> bool {
        self.unknown = match self.unknown.take() {
            _ if task.state() != TaskState::Unspecified => None,
            Some((before, times)) if before == *task => Some((before, times + 1)),
            _ => Some((task.clone(), 0)),
        };
        self.unknown.as_ref().is_some_and(|(_, times)| *times >= UNKNOWN)
    }

    /// Whether a task is interrupted as it was before what is waited for.
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
        // An agent that broke over one question may answer the next.
        ClientError::Agent(error) => passes(error.kind()) || error.kind() == ErrorKind::Internal,
        _ => false,
    }
}
