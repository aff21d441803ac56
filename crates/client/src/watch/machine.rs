//! Reading a connection, and taking it up again.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_model::{
    Caller, Error, ErrorKind, EventStream, Reply, Request, StreamEvent, StreamResponse, Task, TaskId,
    op::{GetTaskRequest, SubscribeToTaskRequest},
    resume,
};

use tokio::time::Instant;

use super::{End, Progress, news::News};
use crate::{
    client::Resend,
    error::ClientError,
    failure::{Failure, may_pass},
    settings::Reconnect,
};

/// How long a stream may stay open after the task's last event.
const LINGER: Duration = Duration::from_millis(500);

/// How long a stream may stay open after a bare message, with which it should end (section 3.1.2).
const MORE_MESSAGES: Duration = Duration::from_secs(10);

/// The state of a [`Watch`](super::Watch). [`Self::next`] may be dropped half-way and called again.
pub(crate) struct Machine {
    transport: Arc<dyn Caller>,
    reconnect: Reconnect,
    /// A request of this client without its call.
    new_request: fn(nuncio_model::Call) -> Request,
    /// Whether the agent is known to go on behind the last event that was seen.
    resumes: bool,
    connection: Option<EventStream>,
    /// The message that began it, where it may be sent once more.
    resend: Option<Resend>,
    /// Events to pass on before the connection's.
    ready: VecDeque<Arc<StreamEvent>>,
    progress: Progress,
    attempts: u32,
    /// Since when nothing new has come.
    unproductive: Option<Instant>,
    /// The task as it has ended, where its last events have not come.
    ended: Option<Task>,
    /// What the connection tells beyond the one before it.
    news: News,
    is_first: bool,
    /// The stream broke before it told anything new, so it is taken up again though the task stands still.
    must_reconnect: bool,
    /// Why the last connection ended.
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
            unproductive: None,
            ended: None,
            news: News::default(),
            is_first: false,
            must_reconnect: false,
            broken: None,
        }
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Makes the first connection of a stream that begins with a subscription.
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
                // The events behind the cursor are gone: the snapshot must do.
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
                    // What comes over a connection is the agent's word on the task, unless it cannot be read.
                    let is_told = self.connection.take().is_some() && error.peer_details().is_some();
                    self.progress.end(if is_told { End::Failed } else { End::Lost });
                    return Some(Err(error.into()));
                }
            }
        }
        self.connection = None;
        None
    }

    /// Reads one event, or makes one move towards the next.
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
            // Agents that tell their answer in several messages say nothing of which is the last.
            Some(end @ End::Message) => match tokio::time::timeout(MORE_MESSAGES, connection.next()).await {
                Ok(Some(Ok(event))) if matches!(event.response, StreamResponse::Message(_)) => Some(Ok(event)),
                _ => {
                    self.progress.end(end);
                    return Ok(None);
                }
            },
            Some(end @ End::Terminal(_)) => {
                match tokio::time::timeout(LINGER, connection.next()).await {
                    // What comes after the end is no concern of the reader's, but for a last snapshot (STREAM-4).
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
                    tracing::warn!(task = %other, "an event of another task is passed over");
                    return Ok(None);
                }
                let is_first = std::mem::take(&mut self.is_first);
                self.progress.complete(&mut event);
                let is_new = self.progress.accept(&event, is_first);
                let is_news = is_new && self.news.record(&event);
                if is_news {
                    self.reset_attempts();
                }
                // A silent agent is subscribed to time and again, and each time says how the task is.
                let was_silent = self.broken.as_ref().is_some_and(is_silence);
                let is_same = is_first && was_silent && !is_news && self.news.is_repeated_snapshot();
                Ok(Some(event).filter(|_| is_new && !is_same))
            }
            Some(Err(error)) if may_pass(&error) => {
                tracing::debug!(%error, "the stream broke");
                self.connection = None;
                // A task that stood still when the stream began may go on; and who is only silent has not closed it.
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

    /// Takes the stream up again.
    async fn reopen(&mut self) -> Result<(), Error> {
        self.progress.note_broken();
        let task = self.progress.read(|seen| seen.task.clone());
        if task.is_none() && self.resend.is_none() {
            return Err(self.broken.take().unwrap_or_else(empty));
        }
        let is_mute = self.broken.as_ref().is_some_and(is_silence) && self.news.is_empty();
        if self.news.take_lasted() && !is_mute {
            self.reset_attempts();
        }
        // One that goes on behind what was seen may have nothing to say, and one from which nothing comes through is
        // silent too.
        if is_mute && let Some(ended) = self.ended.take() {
            self.close_with(ended);
            return Ok(());
        }
        if is_mute
            && let Some(task) = &task
            && self.look(task.clone()).await?
        {
            return Ok(());
        }
        let wait = self.broken.as_ref().and_then(Error::retry_after);
        let delay = self.reconnect.delay(self.attempts);
        let wait = wait.map_or(delay, |wait| wait.min(self.reconnect.max_delay));
        let unproductive = self.unproductive.get_or_insert_with(Instant::now).elapsed();
        let is_enough = self.reconnect.time_limit.is_some_and(|limit| unproductive.saturating_add(wait) > limit);
        if is_enough || self.attempts >= self.reconnect.attempts {
            let ended = || silent("the stream ended before the task did, and cannot be taken up again");
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
                self.news.begin();
                self.is_first = true;
                self.must_reconnect = false;
                Ok(())
            }
            (Ok(_), _) => Err(silent("the agent does not answer a subscription with a stream")),
            (Err(error), _) if may_pass(&error) => {
                self.broken = Some(error);
                Ok(())
            }
            // What was missed is gone: what there is now must do.
            (Err(error), _) if resume::is_lost(&error) && self.progress.forget_place() => {
                self.attempts -= 1;
                self.broken = Some(error);
                Ok(())
            }
            // Ended in the meantime, by the text (SUB-3) or by older SDKs (C-9); or not to be subscribed to at all.
            (Err(error), Some(task))
                if matches!(error.kind(), ErrorKind::UnsupportedOperation | ErrorKind::InvalidParams) =>
            {
                self.read_end(task, error).await
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Something new has come, so all attempts are left.
    fn reset_attempts(&mut self) {
        self.attempts = 0;
        self.unproductive = None;
        self.ended = None;
    }

    /// What takes the stream up resend: a subscription, or the message where it is not known to which task; after a
    /// wait.
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

    /// Asks how the task is, of which a connection told nothing. Whether that is the end.
    async fn look(&mut self, task: TaskId) -> Result<bool, Error> {
        let reply = self.transport.call((self.new_request)(GetTaskRequest::new(task).into())).await;
        match reply.and_then(Task::try_from) {
            Ok(task) if task.state().is_terminal() || (task.state().is_interrupted() && !self.must_reconnect) => {
                // Its last events may still come one by one.
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

    /// Tells a task as it is, and nothing after it.
    fn close_with(&mut self, task: Task) {
        self.must_reconnect = false;
        let event = Arc::new(StreamEvent::new(None, StreamResponse::Task(task)));
        self.progress.accept(&event, true);
        self.ready.push_back(event);
    }
}

/// Whether the peer was waited for in vain.
fn is_silence(error: &Error) -> bool {
    matches!(Failure::of(error), Some(Failure::TimedOut { .. }))
}

/// The stream ended in order, and has told nothing.
fn empty() -> Error {
    Failure::Empty { origin: "the agent".to_owned() }.into()
}

fn silent(message: &str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}
