//! One turn: runs the agent, handles its events, and takes messages and cancels.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
};

use nuncio_limit::Permit;
use nuncio_model::{Error, Message};
use tokio::{
    task::yield_now,
    time::{Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{Runner, idle_timeout::IdleTimeout};
use crate::{
    agent::AgentFuture,
    channel, cluster,
    inbox::Incoming,
    live::LiveTask,
    store::{CommandId, Report},
    turn::{AgentEvent, Turn, TurnInner},
};

/// The state of a running turn.
pub(super) struct Running {
    pub(super) agent: Option<AgentFuture>,
    pub(super) events: channel::Receiver,
    /// Events that were taken from the queue and not handled yet.
    pub(super) received: Vec<AgentEvent>,
    pub(super) cancelled: CancellationToken,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    pub(super) idle_timeout: Option<IdleTimeout>,
    /// Whether the agent has emitted an event of the task.
    pub(super) has_emitted: bool,
    /// Whether the agent has answered with a bare message.
    pub(super) replied: bool,
    /// The bare message, until all events of the batch are handled. A second bare message invalidates both messages.
    pub(super) reply: Option<Message>,
    /// The memory of the message among the memory of all turns.
    _reserved: Option<Permit>,
}

impl Running {
    /// Drops the future of the agent. A panic of a destructor is caught.
    pub(super) fn cut_off(&mut self) {
        let agent = self.agent.take();
        if catch_unwind(AssertUnwindSafe(|| drop(agent))).is_err() {
            tracing::warn!("runner: the agent panicked while it was cut off");
        }
    }

    /// Waits for work of the turn. Cuts off the agent at once if the node loses the task meanwhile, because another
    /// node can run the task.
    async fn while_owned<T>(&mut self, live: &LiveTask, mut done: Pin<&mut impl Future<Output = T>>) -> T {
        poll_fn(|cx| {
            let done = done.as_mut().poll(cx);
            if done.is_pending() && live.is_being_lost(cx) {
                self.cut_off();
            }
            done
        })
        .await
    }
}

impl Runner {
    /// Runs one turn of the agent.
    pub(super) async fn turn(&mut self, incoming: Box<Incoming>) -> Result<(), Error> {
        let (progress, command) = (incoming.progress.clone(), incoming.came_by().cloned());
        progress.begin(self.writer.staged());
        let message = self.shared.idempotency.is_on().then(|| incoming.request.message.message_id.clone());
        if let Some(command) = &command {
            // Before readers can see an event of the turn.
            let report = Report::Begun(self.writer.staged());
            Box::pin(self.report(command, report)).await;
        }
        let mut running = self.start(incoming);
        let live = Arc::clone(self.task_ref.live());
        loop {
            let mut step = self.step(&mut running).await;
            running.while_owned(&live, pin!(self.refuse_duplicates(&mut step.controls))).await;
            let mut received = std::mem::take(&mut running.received);
            let is_flood = channel::is_flood(&received);
            for event in received.drain(..) {
                if running.agent.is_some() {
                    self.handle(&mut running, event);
                }
            }
            running.received = received;
            if let Some(reply) = running.reply.take() {
                self.answer(reply);
            }
            for control in step.controls {
                self.take(control, Some(&mut running));
            }
            self.count_waiting();
            if step.creates_at_once && running.timer.is_none()
                || step.expired && running.timer.as_ref().is_some_and(|timer| timer.is_elapsed())
            {
                self.expire(&mut running);
            }
            if step.is_silent && running.agent.is_some() {
                self.check_idle_timeout(&mut running);
            }
            if let Some(outcome) = step.outcome {
                running.cut_off();
                self.conclude(&running, outcome);
            }
            let is_over = running.agent.is_none();
            let rests = is_over && self.queue.is_empty() && self.staged.is_empty() && !self.left;
            running.while_owned(&live, pin!(self.commit(rests))).await?;
            if is_over {
                if self.writer.state().is_interrupted() {
                    progress.rest(Arc::clone(&self.task_ref.lock().task));
                    if let Some(command) = &command {
                        let report = Report::Rested(self.writer.staged());
                        Box::pin(self.report(command, report)).await;
                    }
                }
                if let Some(message) = message {
                    self.task_ref.lock().turns_in_progress.retain(|(id, _)| *id != message);
                }
                return Ok(());
            }
            if running.timer.is_none() && (running.replied || self.writer.state().is_terminal()) {
                running.timer = Some(Box::pin(sleep(self.shared.limits.linger)));
            }
            if is_flood {
                // The agent may emit without a pause. Other tasks of the runtime need time, too.
                yield_now().await;
            }
        }
    }

    /// Reports the progress of a command. If the report fails, the sender derives the progress from the state of the
    /// task.
    async fn report(&self, command: &CommandId, report: Report) {
        if let Err(error) = cluster::report(&self.shared, &self.task_ref, command, report).await {
            tracing::warn!(task = %self.task_ref.id, error = &error as &dyn std::error::Error, "runner: cannot report the progress of a command; its sender reads the task");
        }
    }

    fn start(&mut self, incoming: Box<Incoming>) -> Running {
        let Incoming { request, extensions, is_first, resumed, reserved, .. } = *incoming;
        let (sender, events) = channel::channel();
        let cancelled = CancellationToken::new();
        self.count_waiting();
        let task = (!is_first).then(|| Arc::clone(&self.task_ref.lock().task));
        let turn = Turn {
            inner: Box::new(TurnInner {
                task_id: self.task_ref.id.clone(),
                context_id: self.writer.context().clone(),
                request,
                task,
                resumed,
                epoch: self.writer.epoch(),
                scope: self.task_ref.scope.clone(),
                extensions,
                cancelled: cancelled.clone(),
                store: Arc::clone(&self.shared.store),
            }),
            events: sender,
        };
        let agent = Some(Arc::clone(&self.shared.agent).run(turn));
        let idle_timeout = self.idle_timeout();
        Running {
            agent,
            events,
            received: Vec::new(),
            cancelled,
            timer: None,
            idle_timeout,
            has_emitted: false,
            replied: false,
            reply: None,
            _reserved: reserved,
        }
    }
}
