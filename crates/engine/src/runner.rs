//! The runner: the one writer of a task. It polls the agent, commits what the agent says, and takes what comes from
//! outside, one thing after the other, until the task rests.

mod step;
mod words;

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use nuncio_model::{Error, ErrorKind, Message, StreamResponse, Task, TaskState, TaskStatus, TaskStatusUpdateEvent};
use tokio::{
    sync::mpsc,
    time::{Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{AgentError, AgentFuture},
    engine::Shared,
    inbox::{Accepted, Control, Incoming, Started},
    reader::LogReader,
    registry::Hold,
    store::PushConfig,
    turn::{Turn, TurnInner, Word},
    writer::LogWriter,
};

/// Words that an agent may be ahead of its runner.
const WORDS: usize = 256;

pub(crate) struct Runner {
    shared: Arc<Shared>,
    hold: Hold,
    writer: LogWriter,
    /// The task to be, until it exists.
    birth: Option<Birth>,
    /// Accepted messages that wait for their turn.
    queue: VecDeque<Incoming>,
    /// Messages that are staged, to be told once they are committed.
    staged: Vec<Incoming>,
    /// The node stops: the task stays as it is.
    left: bool,
}

/// A task that does not exist yet, and may never: the agent may answer with a bare message.
struct Birth {
    task: Task,
    patience: Duration,
}

/// What one turn needs while it runs.
struct Running {
    agent: Option<AgentFuture>,
    words: mpsc::Receiver<Box<Word>>,
    cancelled: CancellationToken,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the agent has said anything about the task.
    spoke: bool,
    /// Whether the agent has answered with a bare message.
    replied: bool,
}

impl Runner {
    /// Begins an interaction. The task exists once the agent has said something about it, or after `patience`.
    pub(crate) fn begin(
        shared: Arc<Shared>,
        hold: Hold,
        first: Incoming,
        push_configs: Vec<PushConfig>,
        patience: Duration,
    ) -> Self {
        let message = &first.request.message;
        let mut task = Task::new(hold.id.clone(), message.context_id.clone().unwrap_or_default());
        task.history.push(message.clone());
        {
            let mut inner = hold.lock();
            inner.context = task.context_id.clone().unwrap_or_default();
            inner.running = true;
        }
        let writer = LogWriter::create(Arc::clone(&shared), Arc::clone(hold.live()), push_configs);
        let birth = Some(Birth { task, patience });
        Self { shared, hold, writer, birth, queue: VecDeque::from([first]), staged: Vec::new(), left: false }
    }

    /// Goes on with a task that rests. The caller has set `running`, put the reason into the inbox, and owns the task
    /// under `epoch`.
    pub(crate) fn resume(shared: Arc<Shared>, hold: Hold, epoch: u64) -> Self {
        let writer = LogWriter::resume(Arc::clone(&shared), Arc::clone(hold.live()), epoch);
        Self { shared, hold, writer, birth: None, queue: VecDeque::new(), staged: Vec::new(), left: false }
    }

    /// Runs until the task rests. The future may be dropped only where the process ends: spawn it instead.
    pub(crate) async fn run(mut self) {
        let outcome = self.work().await;
        if let Err(error) = outcome {
            self.give_up(&error);
        }
        self.shared.turn_ended();
    }

    async fn work(&mut self) -> Result<(), Error> {
        loop {
            let mut controls = Vec::new();
            if self.rests(&mut controls) {
                return Ok(());
            }
            for control in controls {
                self.take(control, None);
            }
            if self.left {
                return self.leave();
            }
            self.commit(self.queue.is_empty() && self.staged.is_empty()).await?;
            if let Some(incoming) = self.queue.pop_front()
                && !self.writer.state().is_terminal()
            {
                self.turn(incoming).await?;
            }
        }
    }

    /// Whether there is nothing left to do; then nobody runs the task any more.
    fn rests(&mut self, controls: &mut Vec<Control>) -> bool {
        let mut inner = self.hold.lock();
        controls.extend(inner.inbox.drain(..));
        let rests = controls.is_empty() && (self.queue.is_empty() || self.writer.state().is_terminal());
        if rests {
            inner.running = false;
        }
        rests
    }

    /// Takes something from outside.
    fn take(&mut self, control: Control, turn: Option<&mut Running>) {
        match (control, turn) {
            (Control::Message(incoming), _) if self.writer.state().is_terminal() => {
                refuse(incoming, ended(&self.hold.id, self.writer.state()));
            }
            (Control::Message(incoming), turn) => {
                self.writer.stage_received(incoming.request.message.clone());
                if turn.is_none() && self.queue.is_empty() && self.writer.state().is_interrupted() {
                    self.set_status(TaskState::Working, None);
                }
                self.staged.push(incoming);
            }
            (Control::Cancel, Some(turn)) if turn.agent.is_some() => {
                if !turn.cancelled.is_cancelled() {
                    turn.cancelled.cancel();
                    turn.timer = Some(Box::pin(sleep(self.shared.limits.cancel_grace)));
                }
            }
            (Control::Cancel, _) => self.end(TaskState::Canceled, None),
            (Control::Fail(reason), turn) => {
                if let Some(turn) = turn {
                    turn.agent = None;
                }
                self.bring_to_life();
                self.end(TaskState::Failed, Some(Message::agent(reason)));
            }
            (Control::Leave, turn) => {
                if let Some(turn) = turn {
                    turn.agent = None;
                }
                self.left = true;
            }
            (Control::Rerun(incoming), _) => self.queue.push_back(incoming),
            (Control::Release, _) => {}
        }
    }

    /// One turn of the agent.
    async fn turn(&mut self, incoming: Incoming) -> Result<(), Error> {
        incoming.started.set(self.writer.staged());
        let mut running = self.start(&incoming);
        drop(incoming);
        loop {
            let step = self.step(&mut running).await;
            for word in step.words {
                if running.agent.is_none() {
                    break;
                }
                self.hear(&mut running, *word);
            }
            for control in step.controls {
                self.take(control, Some(&mut running));
            }
            if step.expired {
                self.expire(&mut running);
            }
            if let Some(outcome) = step.outcome {
                running.agent = None;
                self.conclude(&running, outcome);
            }
            let over = running.agent.is_none();
            let rests = over && self.queue.is_empty() && self.staged.is_empty() && !self.left;
            self.commit(rests || self.writer.state().is_terminal()).await?;
            if over {
                return Ok(());
            }
        }
    }

    fn start(&mut self, incoming: &Incoming) -> Running {
        let (sender, words) = mpsc::channel(WORDS);
        let cancelled = CancellationToken::new();
        let (context_id, task) = {
            let inner = self.hold.lock();
            (inner.context.clone(), (inner.sequence > 0).then(|| Arc::clone(&inner.task)))
        };
        let turn = Turn {
            inner: TurnInner {
                task_id: self.hold.id.clone(),
                context_id,
                request: Arc::clone(&incoming.request),
                task,
                scope: self.hold.scope.clone(),
                extensions: Arc::clone(&incoming.extensions),
                cancelled: cancelled.clone(),
                store: Arc::clone(&self.shared.store),
            },
            words: sender,
        };
        let agent = Some(Arc::clone(&self.shared.agent).run(turn));
        Running { agent, words, cancelled, timer: None, spoke: false, replied: false }
    }

    /// A wait is over: for the first word, or for an agent that was told to stop.
    fn expire(&mut self, running: &mut Running) {
        running.timer = None;
        if running.cancelled.is_cancelled() {
            running.agent = None;
            self.end(TaskState::Canceled, None);
        } else {
            self.bring_to_life();
        }
    }

    /// The agent's turn is over: says the closing word if the agent did not.
    fn conclude(&mut self, running: &Running, outcome: Result<(), AgentError>) {
        if running.replied {
            return;
        }
        match outcome {
            Err(error) => {
                tracing::warn!(task = %self.hold.id, cause = error.cause().map(tracing::field::display), "{error}");
                if self.writer.state().is_terminal() {
                    return;
                }
                self.bring_to_life();
                self.set_status(TaskState::Failed, Some(Message::agent(error.message())));
            }
            Ok(()) => {
                let state = self.writer.state();
                if self.birth.is_none() && (state.is_terminal() || state.is_interrupted()) {
                    return;
                }
                self.bring_to_life();
                if running.cancelled.is_cancelled() {
                    self.set_status(TaskState::Canceled, None);
                } else if self.queue.is_empty() && self.staged.is_empty() {
                    self.set_status(TaskState::Completed, None);
                }
            }
        }
    }

    /// Ends the task, if it has not ended.
    fn end(&mut self, state: TaskState, message: Option<Message>) {
        if !self.writer.state().is_terminal() {
            self.set_status(state, message);
        }
    }

    /// The node stops, and another, or a later start of this one, runs the turn again.
    fn leave(&mut self) -> Result<(), Error> {
        self.hold.lock().running = false;
        self.hold.break_off(Error::new(ErrorKind::Unavailable, "the server is stopping; subscribe again later"));
        Ok(())
    }

    /// Makes the task exist.
    fn bring_to_life(&mut self) {
        if let Some(birth) = self.birth.take() {
            self.writer.stage_task(birth.task);
        }
    }

    fn set_status(&mut self, state: TaskState, message: Option<Message>) {
        let status = TaskStatus { message, ..TaskStatus::new(state) };
        let update = StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, ..Default::default() });
        if let Err(error) = self.say(update) {
            tracing::error!(task = %self.hold.id, %error, "the runner broke the lifecycle");
        }
    }

    /// Commits what is staged, and tells the senders of messages that are in the log now.
    async fn commit(&mut self, release: bool) -> Result<(), Error> {
        if !self.writer.exists() {
            return Ok(());
        }
        self.writer.commit(release).await?;
        for mut incoming in self.staged.drain(..) {
            if let Some(accepted) = incoming.accepted.take() {
                let (reader, task, _) = LogReader::from_now(self.hold.clone());
                // The sender may have left; the message counts all the same.
                drop(accepted.send(Ok(Accepted { task, reader })));
            }
            self.queue.push_back(incoming);
        }
        Ok(())
    }

    /// The store failed for good: readers are told, and the task is failed later, when the store is back.
    fn give_up(&mut self, error: &Error) {
        let controls: Vec<_> = {
            let mut inner = self.hold.lock();
            inner.running = false;
            inner.epoch = None;
            inner.inbox.drain(..).collect()
        };
        let waiting = controls.into_iter().filter_map(|control| match control {
            Control::Message(incoming) => Some(incoming),
            _ => None,
        });
        for incoming in waiting.chain(self.staged.drain(..)) {
            refuse(incoming, error.clone());
        }
        if self.writer.is_committed() {
            self.shared.abandon(&self.hold.scope, &self.hold.id);
        }
        self.hold.break_off(error.clone());
    }
}

fn refuse(incoming: Incoming, error: Error) {
    if let Some(accepted) = incoming.accepted {
        drop(accepted.send(Err(error)));
    }
}

/// The error for a message to a task that has ended (SEND-5).
pub(crate) fn ended(id: &nuncio_model::TaskId, state: TaskState) -> Error {
    Error::new(
        ErrorKind::UnsupportedOperation,
        format!("task {id} is {}; send a message without a task id to begin another in its context", state.short()),
    )
    .with_metadata("taskId", id.as_str())
}

impl Incoming {
    /// A message that begins an interaction.
    pub(crate) fn first(request: Arc<nuncio_model::op::SendMessageRequest>, extensions: Arc<[Box<str>]>) -> Self {
        Self { request, extensions, accepted: None, started: Started::not_yet() }
    }
}
