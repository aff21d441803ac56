//! The runner: the only writer of a task. The runner polls the agent, commits its events, and handles controls one
//! after the other, until the task rests.

mod control;
mod ending;
mod events;
mod idle_timeout;
mod settle;
mod step;
mod turn;

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use ending::ended;
use nuncio_model::{Error, TaskState, Timestamp, op::SendMessageRequest};
use tokio::sync::oneshot;
use turn::Running;

use crate::{
    bugs,
    in_flight::Leader,
    inbox::{Accepted, Cancel, Control, Incoming},
    live::LiveTask,
    reader::LogReader,
    recovery::ABANDONED,
    registry::TaskRef,
    shared::Shared,
    store::{Command, PushConfig},
    turns::stopping,
    writer::{Claimed, LogWriter},
};

pub(crate) struct Runner {
    shared: Arc<Shared>,
    task_ref: TaskRef,
    writer: LogWriter,
    /// The task, until it is created.
    deferred: Option<DeferredTask>,
    /// The message that creates the task.
    first: Option<Box<Incoming>>,
    /// Keeps duplicates of the first message waiting until the task is in the store.
    leader: Option<Leader>,
    /// Accepted messages that wait for their turn.
    queue: VecDeque<Box<Incoming>>,
    /// Staged messages. Their senders are notified after the commit.
    staged: VecDeque<Box<Incoming>>,
    /// Commands of other nodes that arrived while no node owned the task.
    commands: Vec<Command>,
    /// The senders of cancels.
    cancels: Vec<Cancel>,
    /// The reason why the task fails if its last turn cannot run again. Set if the task had no runner and must be
    /// settled.
    unsettled: Option<&'static str>,
    /// Callers that wait until the task is settled.
    settling: Vec<oneshot::Sender<Error>>,
    /// The node stops, and the task keeps its state.
    left: bool,
    /// The node was silent for too long.
    lost: bool,
    /// This runner no longer writes the task.
    over: bool,
    /// The start of this runner, if the ends of tasks are logged.
    began: Option<Instant>,
}

/// A task that does not exist yet. The task is never created if the agent answers with a bare message.
struct DeferredTask {
    /// The request with the first message.
    request: Arc<SendMessageRequest>,
    extensions: Arc<[Box<str>]>,
    first_event_timeout: Duration,
    /// The arrival of the request. Events of the task have later timestamps.
    arrived: Timestamp,
}

/// The reason why a runner has no work.
enum Idle {
    /// The task has no waiting controls.
    Over,
    /// The task has waiting controls, but the runner has released the task and must claim it again.
    LetGo,
    /// The runner disappears during a turn: a deliberate bug for tests.
    Lost,
}

impl Runner {
    /// A runner for a new task. The task is created with the first event of the agent, or after `first_event_timeout`.
    pub(crate) fn begin(
        shared: Arc<Shared>,
        task_ref: TaskRef,
        mut first: Box<Incoming>,
        push_configs: Vec<PushConfig>,
        first_event_timeout: Duration,
        leader: Option<Leader>,
    ) -> Self {
        let message = &first.request.message;
        let context = message.context_id.clone().unwrap_or_default();
        let (request, extensions) = (Arc::clone(&first.request), Arc::clone(&first.extensions));
        {
            let mut state = task_ref.lock();
            state.running = true;
            if shared.idempotency.is_on() {
                state.turns_in_progress.push((message.message_id.clone(), first.progress.clone()));
            }
        }
        let writer = LogWriter::create(Arc::clone(&shared), Arc::clone(task_ref.live()), context, push_configs);
        let mut runner = Self::with(shared, task_ref, writer);
        runner.deferred = Some(DeferredTask { request, extensions, first_event_timeout, arrived: Timestamp::now() });
        runner.leader = leader;
        first.is_first = true;
        runner.first = Some(first);
        runner
    }

    /// A runner for a task at rest. The caller has set `running` and added a control to the inbox.
    pub(crate) fn resume(shared: Arc<Shared>, task_ref: TaskRef) -> Self {
        let writer = LogWriter::resume(Arc::clone(&shared), Arc::clone(task_ref.live()));
        Self::with(shared, task_ref, writer)
    }

    fn with(shared: Arc<Shared>, task_ref: TaskRef, writer: LogWriter) -> Self {
        let is_logged = tracing::enabled!(tracing::Level::INFO) && !writer.state().is_terminal();
        let began = is_logged.then(Instant::now);
        Self {
            shared,
            task_ref,
            writer,
            deferred: None,
            first: None,
            leader: None,
            queue: VecDeque::new(),
            staged: VecDeque::new(),
            commands: Vec::new(),
            cancels: Vec::new(),
            unsettled: None,
            settling: Vec::new(),
            left: false,
            lost: false,
            over: false,
            began,
        }
    }

    /// Runs until the task rests. If the future is dropped earlier, the task is released for recovery. Spawn the future
    /// to prevent this.
    ///
    /// Not an `async fn`, because such a future would reserve space for the runner twice. Each running task has such a
    /// future, so it must be small.
    #[expect(clippy::manual_async_fn, reason = "it is larger as one")]
    pub(crate) fn run(mut self) -> impl Future<Output = ()> + Send {
        async move {
            loop {
                match self.writer.claim().await {
                    Ok(Claimed::Here { abandoned, commands }) => {
                        if abandoned {
                            let LiveTask { scope, id, .. } = &**self.task_ref.live();
                            self.unsettled = Some(self.shared.recovery_queue.why(scope, id).unwrap_or(ABANDONED));
                        }
                        self.commands = commands;
                    }
                    Ok(Claimed::Elsewhere) => return self.forward(),
                    // No turn began, so only the waiting senders need the error.
                    Err(error) => return self.let_go(&error),
                }
                match self.work().await {
                    Ok(Idle::Over) => return self.finish(),
                    Ok(Idle::LetGo) => {}
                    Ok(Idle::Lost) => return self.vanish(),
                    Err(_) if self.is_elsewhere() => return self.lose(),
                    Err(error) => return self.give_up(&error),
                }
            }
        }
    }

    /// Whether the task exists and other nodes may own it.
    fn is_elsewhere(&self) -> bool {
        self.writer.is_committed() && (self.lost || self.writer.is_fenced())
    }

    async fn work(&mut self) -> Result<Idle, Error> {
        if let Some(first) = self.first.take() {
            self.turn(first).await?;
        }
        loop {
            self.settle_if_due().await?;
            let members = &self.shared.members;
            let in_hand = |command: Command| members.take(&command.id).map(|guard| Control::Command(command, guard));
            let mut controls: Vec<_> = self.commands.drain(..).filter_map(in_hand).collect();
            if let Some(rest) = self.rests(&mut controls) {
                return Ok(rest);
            }
            self.refuse_duplicates(&mut controls).await;
            // The turn that was cut off must be settled before the messages of the claim, which could otherwise hide
            // that turn.
            controls.sort_by_key(|control| !matches!(control, Control::Settle(..)));
            for control in controls {
                self.take(control, None);
                self.settle_if_due().await?;
            }
            self.count_waiting();
            if self.left {
                return Err(stopping());
            }
            let is_next = !self.queue.is_empty() || !self.staged.is_empty();
            if is_next && self.writer.state().is_interrupted() {
                self.set_status(TaskState::Working, None);
            }
            let mut next = self.next();
            self.commit(!is_next).await?;
            if next.is_none() {
                next = self.next();
                self.commit(false).await?;
            }
            // The settled task is committed.
            self.settling.clear();
            if let Some(next) = next {
                if bugs::loses_runner() {
                    return Ok(Idle::Lost);
                }
                self.turn(next).await?;
            }
        }
    }

    /// Takes the next message. Stages the begin of its turn if the message has waited.
    fn next(&mut self) -> Option<Box<Incoming>> {
        let next = self.queue.pop_front().filter(|_| !self.writer.state().is_terminal())?;
        if next.waits {
            self.writer.stage_begun();
        }
        Some(next)
    }

    async fn settle_if_due(&mut self) -> Result<(), Error> {
        if let Some(reason) = self.unsettled.take() {
            Box::pin(self.settle(reason)).await?;
            // Before the waiting callers read the result.
            self.commit(false).await?;
        }
        Ok(())
    }

    /// Whether there is no work left. The runner then stops.
    fn rests(&mut self, controls: &mut Vec<Control>) -> Option<Idle> {
        let mut state = self.task_ref.lock();
        if !self.writer.is_owner() && state.has_pending() {
            return Some(Idle::LetGo);
        }
        state.empty_inbox(controls);
        let is_idle = controls.is_empty() && self.staged.is_empty();
        self.over = !self.left && is_idle && (self.queue.is_empty() || self.writer.state().is_terminal());
        if self.over {
            state.running = false;
            state.queued = 0;
            state.turns_in_progress.clear();
            if self.writer.is_at_work() {
                // The next claim finds that the task was at work.
                state.epoch = None;
            }
        }
        self.over.then_some(Idle::Over)
    }

    /// Commits the staged records, and notifies the senders of the committed messages. The store learns whether the
    /// task `rests` or has ended.
    async fn commit(&mut self, rests: bool) -> Result<(), Error> {
        if !self.writer.exists() {
            return Ok(());
        }
        self.writer.commit(rests || self.writer.state().is_terminal()).await?;
        self.leader = None;
        for mut incoming in self.staged.drain(..) {
            incoming.committed();
            if let Some(precreated) = incoming.precreated.take() {
                precreated.confirm();
            }
            if self.shared.idempotency.is_on() {
                let message = incoming.request.message.message_id.clone();
                self.task_ref.lock().turns_in_progress.push((message, incoming.progress.clone()));
            }
            if let Some(accepted) = incoming.accepted.take() {
                let (reader, task, _) = LogReader::from_now(self.task_ref.clone());
                // The sender may be gone. The message still counts.
                drop(accepted.send(Ok(Accepted { task, reader })));
            }
            self.queue.push_back(incoming);
        }
        Ok(())
    }
}
