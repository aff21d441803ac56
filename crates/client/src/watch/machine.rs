//! Reads a connection, and resumes the stream after its end.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_model::{
    Caller, Error, ErrorKind, EventStream, Reply, Request, StreamEvent, StreamResponse, Task, TaskId,
    op::{GetTaskRequest, SubscribeToTaskRequest},
    resume,
};

use tokio::time::Instant;

use super::{End, Progress, new_events::NewEvents};
use crate::{
    client::Resend,
    error::ClientError,
    failure::{Failure, may_pass},
    settings::Reconnect,
};

/// The time for the end of a stream after the last event of the task.
const LINGER: Duration = Duration::from_millis(500);

/// The time for the end of a stream after a message without a task. The message should end the stream (section 3.1.2).
const MORE_MESSAGES: Duration = Duration::from_secs(10);

/// The state of a [`Watch`](super::Watch). The future of [`Self::next`] can be dropped at any point; the next call
/// continues.
pub(crate) struct Machine {
    transport: Arc<dyn Caller>,
    reconnect: Reconnect,
    /// Creates a request of this client for a call.
    new_request: fn(nuncio_model::Call) -> Request,
    /// Whether the agent resumes after the last received event.
    resumes: bool,
    connection: Option<EventStream>,
    /// The first message, if the message may be sent again.
    resend: Option<Resend>,
    /// Events to return before the events of the connection.
    ready: VecDeque<Arc<StreamEvent>>,
    progress: Progress,
    attempts: u32,
    /// The start of the time without a new event.
    unproductive_since: Option<Instant>,
    /// The ended task, while its last events have not arrived.
    ended: Option<Task>,
    /// Compares the events of this connection with those of the previous connection.
    new_events: NewEvents,
    is_first: bool,
    /// The stream broke before a new event, so the stream is resumed although the task is interrupted.
    must_reconnect: bool,
    /// The error that ended the last connection.
    broken: Option<Error>,
}

impl Machine {
    pub(crate) fn new(
        transport: Arc<dyn Caller>,
        reconnect: Reconnect,
        new_request: fn(nuncio_model::Call) -> Request,
        resumes: bool,
        connection: Option<EventStream>,
        progress: Progress,
        resend: Option<Resend>,
    ) -> Self {
        if resumes {
            progress.set_numbered();
        }
        Self {
            transport,
            reconnect,
            new_request,
            resumes,
            connection,
            resend,
            ready: VecDeque::new(),
            progress,
            attempts: 0,
            unproductive_since: None,
            ended: None,
            new_events: NewEvents::default(),
            is_first: false,
            must_reconnect: false,
            broken: None,
        }
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Opens the first connection of a stream that starts with a subscription.
    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        let (task, is_behind) = self.progress.read(|seen| (seen.task.clone(), seen.sequence.is_some()));
        loop {
            let Some(request) = self.next_request(task.clone(), Duration::ZERO) else {
                return Err(silent("there is no task to subscribe to"));
            };
            match (self.transport.call(request).await.and_then(EventStream::try_from), &task) {
                (Ok(connection), _) => {
                    self.connection = Some(connection);
                    self.is_first = is_behind;
                    return Ok(());
                }
                // The events after the cursor are deleted. The stream starts with a snapshot.
                (Err(error), _) if resume::is_lost(&error) && self.progress.forget_place() => {}
                (Err(error), Some(task)) if is_behind && error.kind() == ErrorKind::UnsupportedOperation => {
                    return self.read_end(task.clone(), error).await;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Arc<StreamEvent>, ClientError>> {
        while self.progress.read(|seen| seen.end.is_none()) {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.step().await {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => {
                    // An error within a connection is the agent's answer about the task, unless the error cannot be
                    // read.
                    let is_from_agent = self.connection.take().is_some() && error.peer_details().is_some();
                    self.progress.end(if is_from_agent { End::Failed } else { End::Lost });
                    return Some(Err(error.into()));
                }
            }
        }
        self.connection = None;
        None
    }

    /// Reads one event, or takes one step to the next event.
    async fn step(&mut self) -> Result<Option<Arc<StreamEvent>>, Error> {
        let verdict = self.progress.verdict();
        let Some(connection) = &mut self.connection else {
            match verdict {
                Some(end) if !self.must_reconnect => self.progress.end(end),
                _ => self.reopen().await?,
            }
            return Ok(None);
        };
        let item = match verdict {
            // Some agents answer in several messages and do not mark the last message.
            Some(end @ End::Message) => match tokio::time::timeout(MORE_MESSAGES, connection.next()).await {
                Ok(Some(Ok(event))) if matches!(event.response, StreamResponse::Message(_)) => Some(Ok(event)),
                _ => {
                    self.progress.end(end);
                    return Ok(None);
                }
            },
            Some(end @ End::Terminal(_)) => {
                match tokio::time::timeout(LINGER, connection.next()).await {
                    // After the end, only a last snapshot is returned (section 11.7). Other events are ignored.
                    Ok(Some(Ok(event))) if matches!(event.response, StreamResponse::Task(_)) => Some(Ok(event)),
                    _ => {
                        self.progress.end(end);
                        return Ok(None);
                    }
                }
            }
            _ => connection.next().await,
        };
        match item {
            Some(Ok(mut event)) => {
                if let Some(other) = self.progress.foreign(&event) {
                    tracing::warn!(task = %other, "ignored an event of another task");
                    return Ok(None);
                }
                let is_first = std::mem::take(&mut self.is_first);
                self.progress.complete(&mut event);
                let is_new = self.progress.accept(&event, is_first);
                let is_progress = is_new && self.new_events.record(&event);
                if is_progress {
                    self.reset_attempts();
                }
                // After each resumption of a silent stream the agent sends the same snapshot, which is returned once.
                let was_silent = self.broken.as_ref().is_some_and(is_silence);
                let is_same = is_first && was_silent && !is_progress && self.new_events.is_repeated_snapshot();
                Ok(Some(event).filter(|_| is_new && !is_same))
            }
            Some(Err(error)) if may_pass(&error) => {
                tracing::debug!(%error, "the stream broke");
                self.connection = None;
                // A task that was interrupted at the start of the stream may continue. After a timeout the agent has
                // not closed the stream.
                self.must_reconnect = matches!(verdict, Some(End::Interrupted(_)))
                    && (!self.progress.is_interrupted_live() || is_silence(&error));
                self.broken = Some(error);
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            None => {
                self.connection = None;
                Ok(None)
            }
        }
    }

    /// Resumes the stream.
    async fn reopen(&mut self) -> Result<(), Error> {
        self.progress.note_broken();
        let task = self.progress.read(|seen| seen.task.clone());
        if task.is_none() && self.resend.is_none() {
            return Err(self.broken.take().unwrap_or_else(empty));
        }
        let has_no_event = self.broken.as_ref().is_some_and(is_silence) && self.new_events.is_empty();
        if self.new_events.take_lasted() && !has_no_event {
            self.reset_attempts();
        }
        // A resumed stream may have no event to send. A broken connection is also silent, so the client reads the task.
        if has_no_event && let Some(ended) = self.ended.take() {
            self.close_with(ended);
            return Ok(());
        }
        if has_no_event
            && let Some(task) = &task
            && self.look(task.clone()).await?
        {
            return Ok(());
        }
        let wait = self.broken.as_ref().and_then(Error::retry_after);
        let delay = self.reconnect.delay(self.attempts);
        let wait = wait.map_or(delay, |wait| wait.min(self.reconnect.max_delay));
        let unproductive_since = self.unproductive_since.get_or_insert_with(Instant::now).elapsed();
        let is_enough = self.reconnect.time_limit.is_some_and(|limit| unproductive_since.saturating_add(wait) > limit);
        if is_enough || self.attempts >= self.reconnect.attempts {
            let ended = || silent("the stream ended before the task, and cannot be resumed");
            return Err(self.broken.take().unwrap_or_else(ended));
        }
        self.attempts += 1;
        let Some(request) = self.next_request(task.clone(), wait) else {
            return Err(self.broken.take().unwrap_or_else(empty));
        };
        tokio::time::sleep(wait).await;
        match (self.transport.call(request).await, task) {
            (Ok(Reply::Events(connection)), _) => {
                self.connection = Some(connection);
                self.progress.note_connected();
                self.new_events.begin();
                self.is_first = true;
                self.must_reconnect = false;
                Ok(())
            }
            (Ok(_), _) => Err(silent("the agent answered a subscription without a stream")),
            (Err(error), _) if may_pass(&error) => {
                self.broken = Some(error);
                Ok(())
            }
            // The missed events are deleted. The stream continues with a snapshot.
            (Err(error), _) if resume::is_lost(&error) && self.progress.forget_place() => {
                self.attempts -= 1;
                self.broken = Some(error);
                Ok(())
            }
            // The task has ended (section 3.1.6 "Subscribe to Task"), or the agent does not support subscriptions.
            // Older SDKs answer with `InvalidParams`.
            (Err(error), Some(task))
                if matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::InvalidParams) =>
            {
                self.read_end(task, error).await
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Restores all attempts after a new event.
    fn reset_attempts(&mut self) {
        self.attempts = 0;
        self.unproductive_since = None;
        self.ended = None;
    }

    /// The request that resumes the stream after a delay: a subscription, or the first message if the task is not
    /// known.
    fn next_request(&self, task: Option<TaskId>, wait: Duration) -> Option<Request> {
        let Some(task) = task else { return self.resend.as_ref()?.request_after(wait) };
        let mut request = (self.new_request)(SubscribeToTaskRequest::new(task).into());
        request.last_event = self.progress.read(|seen| seen.sequence);
        if self.resumes && request.last_event.is_some() {
            request.extensions.push(resume::URI.into());
        }
        Some(request)
    }

    async fn read_end(&mut self, task: TaskId, refusal: Error) -> Result<(), Error> {
        let reply = self.transport.call((self.new_request)(GetTaskRequest::new(task).into())).await;
        let task = match reply.and_then(Task::try_from) {
            Ok(task) if task.state().is_terminal() || task.state().is_interrupted() => task,
            Ok(_) => return Err(refusal),
            Err(error) if may_pass(&error) => {
                self.broken = Some(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.close_with(task);
        Ok(())
    }

    /// Reads the task after a connection without an event. Returns whether the stream has reached its end.
    async fn look(&mut self, task: TaskId) -> Result<bool, Error> {
        let reply = self.transport.call((self.new_request)(GetTaskRequest::new(task).into())).await;
        match reply.and_then(Task::try_from) {
            Ok(task) if task.state().is_terminal() || (task.state().is_interrupted() && !self.must_reconnect) => {
                // The last events of the task may still arrive.
                let may_come = self.resumes && self.progress.read(|seen| seen.sequence.is_some());
                if may_come {
                    self.ended = Some(task);
                } else {
                    self.close_with(task);
                }
                Ok(!may_come)
            }
            Ok(_) => {
                self.reset_attempts();
                Ok(false)
            }
            Err(error) if may_pass(&error) => {
                self.broken = Some(error);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a snapshot as the last event.
    fn close_with(&mut self, task: Task) {
        self.must_reconnect = false;
        let event = Arc::new(StreamEvent::new(None, StreamResponse::Task(task)));
        self.progress.accept(&event, true);
        self.ready.push_back(event);
    }
}

/// Whether a wait for the peer timed out.
fn is_silence(error: &Error) -> bool {
    matches!(Failure::of(error), Some(Failure::TimedOut { .. }))
}

/// The error of a stream that ended without an event.
fn empty() -> Error {
    Failure::Empty { origin: "the agent".to_owned() }.into()
}

fn silent(message: &str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}
