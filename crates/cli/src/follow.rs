//! Follows a task to its end by a stream, or by polling if there is no stream or the stream breaks (cli
//! specification, section 10).

mod abandoned;
mod changes;
mod fold;
mod lost;
mod merge;

use std::{
    cell::Cell,
    future::Future,
    io::{self, IsTerminal as _},
    process::ExitCode,
    time::{Duration, Instant},
};

use nuncio_client::{End, Watch};
use nuncio_model::{Message, StreamResponse, Task, TaskId, TaskState, op::GetTaskRequest};

use crate::{
    args::{WaitArgs, duration},
    connect::Connection,
    context::Context,
    diag,
    error::{CliError, Code},
    output::Output,
    reference::{self, InHand},
    waiting,
};
use abandoned::Next;
use fold::Fold;

/// The outcome of a message.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Task(Box<Task>),
    Message(Box<Message>),
}

/// Follows one task.
pub(crate) struct Follower<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) output: Output,
    pub(crate) interval: Duration,
    pub(crate) history: Option<i32>,
    /// Whether each event is printed, and not the outcome alone.
    pub(crate) is_stream: bool,
    is_announced: Cell<bool>,
    /// Whether stderr says that the connection is lost.
    is_lost: Cell<bool>,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        context: &Context,
        connection: &'a Connection,
        wait: &WaitArgs,
        history: Option<i32>,
        is_stream: bool,
    ) -> Result<Self, CliError> {
        let interval = context.value(wait.poll_interval, "poll-interval", duration)?;
        let interval = interval.unwrap_or(Duration::from_secs(2));
        let (is_announced, is_lost) = (Cell::new(false), Cell::new(false));
        Ok(Self { connection, output: context.output, interval, history, is_stream, is_announced, is_lost })
    }

    /// Reads a stream until the task ends or is interrupted. With `through`, an interruption at the beginning of the
    /// stream is ignored, and the function waits for the next turn.
    pub(crate) async fn watch(&self, watch: Watch, through: bool) -> Result<Outcome, CliError> {
        self.read(watch, through, false).await
    }

    /// Reads a stream; `is_doubtful` where the agent may have given the task up.
    async fn read(&self, mut watch: Watch, through: bool, is_doubtful: bool) -> Result<Outcome, CliError> {
        let mut fold = Fold::default();
        let mut answer: Option<Message> = None;
        loop {
            let item = match (self.next(&mut watch, is_doubtful).await, watch.task_id()) {
                (Next::Item(item), _) => item,
                (Next::Stalled, Some(task)) => return self.look_for_end(&task, fold.into_task(), None).await,
                (Next::Stalled, None) => continue,
            };
            let Some(item) = item else { break };
            let event = match item {
                Ok(event) => event,
                Err(error) => match watch.task_id() {
                    Some(task) if watch.end() == Some(End::Lost) && abandoned::is_told(&error) => {
                        return self.look_for_end(&task, fold.into_task(), Some(error)).await;
                    }
                    Some(task) if watch.end() == Some(End::Lost) => {
                        diag::progress(&format!("the stream broke ({error}); asking for the task instead"));
                        return self.poll(&task, fold.into_task(), through).await;
                    }
                    _ => return Err(self.connection.explain(error)),
                },
            };
            if self.is_stream {
                self.output.event(&event.response)?;
            }
            let is_first = fold.task().is_none();
            fold.apply(&event.response);
            let is_over = match &event.response {
                // The stream ends behind the last of them.
                StreamResponse::Message(message) => {
                    match &mut answer {
                        Some(answer) => answer.parts.extend(message.parts.iter().cloned()),
                        None => answer = Some(message.clone()),
                    }
                    false
                }
                StreamResponse::ArtifactUpdate(_) => false,
                StreamResponse::StatusUpdate(update) => is_over(update.status.state),
                StreamResponse::Task(task) if is_first && through => task.state().is_terminal(),
                StreamResponse::Task(task) => is_over(task.state()),
            };
            if let Some(task) = fold.task() {
                self.announce(task)?;
                if let StreamResponse::StatusUpdate(_) = &event.response {
                    self.show_progress(task);
                }
            }
            if is_over {
                break;
            }
        }
        if let Some(answer) = answer {
            return Ok(Outcome::Message(Box::new(answer)));
        }
        match fold.into_task() {
            Some(task) => self.last_look(task).await,
            None => Err(CliError::new(Code::Agent("InvalidAgentResponseError"), "the stream ended without an event")),
        }
    }

    /// Polls a task until the task ends or is interrupted. With `through`, the current interruption is ignored, as in
    /// [`Self::watch`]. `known` is the task as it was printed before.
    pub(crate) async fn poll(&self, id: &TaskId, mut known: Option<Task>, through: bool) -> Result<Outcome, CliError> {
        let told = known.clone();
        let mut request = GetTaskRequest::new(id.clone());
        request.history_length = self.history;
        let mut poll = self.connection.client.poll(request).every(self.interval);
        if known.is_some() {
            poll = poll.after_a_pause();
        }
        if through {
            poll = poll.through(known.as_ref().map(|task| task.status.clone()));
        }
        let mut last_change = Instant::now();
        let mut is_doubtful = false;
        while let Some(answer) = poll.next().await {
            let task = answer.map_err(|error| self.lost(error))?;
            self.announce(&task)?;
            let changes = changes::between(known.as_ref(), &task);
            if !changes.is_empty() {
                last_change = Instant::now();
            } else if self.connection.idle.is_some_and(|idle| last_change.elapsed() >= idle) && !is_doubtful {
                is_doubtful = true;
                diag::warn(&format!(
                    "task {id} has not changed for {} s; the agent may have given it up; --timeout ends the wait",
                    last_change.elapsed().as_secs()
                ));
            }
            if !changes.is_empty() {
                self.show_progress(&task);
            }
            if self.is_stream {
                changes.iter().try_for_each(|change| self.output.event(change))?;
            }
            known = Some(task);
        }
        let task = known.ok_or_else(|| CliError::internal("the task was not read"))?;
        Ok(Outcome::Task(Box::new(match told {
            Some(told) => merge::merged(told, task),
            None => task,
        })))
    }

    /// Follows a task after a first answer, which is printed if events are printed.
    pub(crate) async fn go_on(&self, task: Task) -> Result<Outcome, CliError> {
        if self.is_stream {
            self.output.event(&StreamResponse::Task(task.clone()))?;
        }
        if self.connection.client.is_settled(task.state()) {
            return Ok(Outcome::Task(Box::new(task)));
        }
        self.announce(&task)?;
        let id = task.id.clone();
        // An agent that answers before the end works on the task or has given up the task. A subscription shows which.
        if !self.is_stream && self.connection.client.card().is_some_and(|card| card.capabilities.streams()) {
            match self.connection.client.watch(id.clone()).await {
                Ok(watch) => return self.read(watch, false, true).await,
                Err(error) if abandoned::is_told(&error) => {
                    return self.look_for_end(&id, Some(task), Some(error)).await;
                }
                Err(error) => tracing::debug!(%error, "the task cannot be watched"),
            }
        }
        self.poll(&id, Some(task), false).await
    }

    /// The task folded from its events, merged with the task that the agent stores.
    async fn last_look(&self, folded: Task) -> Result<Outcome, CliError> {
        if self.is_stream {
            return Ok(Outcome::Task(Box::new(folded)));
        }
        let mut request = GetTaskRequest::new(folded.id.clone());
        request.history_length = self.history;
        Ok(Outcome::Task(Box::new(match self.connection.client.call(request).await {
            Ok(task) => merge::merged(folded, task),
            Err(error) => {
                tracing::debug!(%error, "the task cannot be read; its events told enough");
                folded
            }
        })))
    }

    /// Shows the state of the task on a terminal, unless the result on the same terminal shows the state.
    fn show_progress(&self, task: &Task) {
        let is_result = self.is_stream || is_over(task.state());
        if !(is_result && io::stdout().is_terminal()) {
            diag::progress(&format!("task {} is {}", task.id, task.state().short()));
        }
    }

    /// Prints the ids of the task as early as possible: in text output, otherwise on stderr.
    fn announce(&self, task: &Task) -> Result<(), CliError> {
        if self.is_announced.replace(true) {
            reference::note_state(task.state());
            return Ok(());
        }
        let in_hand = self.in_hand(task);
        reference::note(in_hand.clone());
        match (self.is_stream, self.output.is_text()) {
            (true, _) => Ok(()),
            (false, true) => self.output.document(&(), |to| to.head(&task.id, task.context_id.as_ref())),
            // Nothing but the answer, unless the wait ends early.
            (false, false) if self.output.is_answer() => Ok(()),
            (false, false) => {
                in_hand.tell();
                Ok(())
            }
        }
    }

    /// The error of a lost connection, with a command that continues the wait.
    fn lost(&self, error: nuncio_client::ClientError) -> CliError {
        let error = self.connection.explain(error);
        match reference::in_hand() {
            Some(task) if error.code == Code::Unreachable => {
                error.with_hint(format!("the task may go on; {}", task.wait_command()))
            }
            _ => error,
        }
    }

    fn in_hand(&self, task: &Task) -> InHand {
        let flags = self.connection.flags.clone();
        InHand { task: task.id.clone(), context: task.context_id.clone(), state: task.state(), flags }
    }

    /// Whether the ids stand in the output for people already.
    pub(crate) fn has_head(&self) -> bool {
        self.is_announced.get() && !self.is_stream && self.output.is_text()
    }

    /// Prints the next step, and warns of an outcome that exit code 0 does not show. With `fails`, the code is 1 for
    /// a task that ended and is not completed.
    pub(crate) fn close(&self, task: &Task, fails: bool) -> Result<ExitCode, CliError> {
        let state = task.state();
        if state.is_interrupted() {
            let resume = self.in_hand(task).resume_command();
            if self.output.is_text() {
                self.output.document(&(), |to| to.field("Resume", &resume))?;
            }
            diag::warn(&format!("the task is not done, it is {}", state.short()));
            if !self.output.is_text() {
                diag::hint(&resume);
            }
        } else if state.is_terminal() && state != TaskState::Completed {
            diag::warn(&format!("the task is {}", state.short()));
            return Ok(ExitCode::from(u8::from(fails)));
        } else if state == TaskState::Unspecified {
            diag::warn("the agent does not say how far the task is; its state is not known");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether there is nothing to wait for: the task has ended, or waits itself.
fn is_over(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// Waits no longer than `--timeout` says; the task goes on without us.
pub(crate) async fn within<T>(
    context: &Context,
    wait: &WaitArgs,
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    // Boxed, because this future would otherwise contain the other several times.
    let work = waiting::shown(Box::pin(work));
    let Some(limit) = context.value(wait.timeout, "timeout", duration)? else { return work.await };
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let error = CliError::new(Code::Timeout, format!("nothing came within {limit:?}"));
        Err(match reference::in_hand() {
            Some(task) => {
                let message = format!("task {} is not done after {limit:?}", task.task);
                CliError::new(Code::Timeout, message).with_hint(task.way_on())
            }
            None => error.with_hint("raise --timeout"),
        })
    })
}
