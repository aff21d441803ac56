//! One step of a runner: polls the agent, and takes its events and controls.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::sleep;

use super::{Runner, Running};
use crate::{agent::AgentError, inbox::Control};

/// The results of a step, except the events of the agent.
#[derive(Default)]
pub(super) struct Step {
    pub(super) controls: Vec<Control>,
    /// The outcome of the turn, if the turn ended.
    pub(super) outcome: Option<Result<(), AgentError>>,
    /// Whether the timer has expired. An event or a cancel of the same step can stop or replace the timer.
    pub(super) expired: bool,
    /// Whether the task must be created without a wait for the first event.
    pub(super) creates_at_once: bool,
    /// Whether the idle timeout may have expired.
    pub(super) is_silent: bool,
}

impl Runner {
    /// Waits for an event, a control or a timer.
    pub(super) async fn step(&mut self, running: &mut Running) -> Step {
        let mut step = Step::default();
        poll_fn(|cx| {
            let can_be_found = self.task_ref.take_controls(cx, &mut step.controls);
            if step.controls.iter().any(Control::is_loss) {
                running.cut_off();
            }
            step.outcome = running.poll_agent(cx);
            let is_quiet = step.outcome.is_none() && running.received.is_empty();
            if let Some(timer) = &mut running.timer {
                step.expired = timer.as_mut().poll(cx).is_ready();
            } else if let Some(deferred) = &self.deferred
                && is_quiet
            {
                step.creates_at_once = deferred.first_event_timeout.is_zero();
                step.expired = !step.creates_at_once && running.set_timer(deferred.first_event_timeout, cx);
            }
            if let Some(idle_timeout) = &mut running.idle_timeout {
                if !is_quiet {
                    idle_timeout.reset();
                }
                step.is_silent = idle_timeout.poll(cx);
            }
            if !is_quiet || step.expired || step.creates_at_once || step.is_silent || !step.controls.is_empty() {
                return Poll::Ready(());
            }
            if !can_be_found {
                // The first step takes time. The task must be found if the engine stops meanwhile.
                self.shared.register(self.task_ref.live());
            }
            Poll::Pending
        })
        .await;
        step
    }
}

impl Running {
    /// Sets the timer. Returns whether the timer has already expired.
    fn set_timer(&mut self, duration: Duration, cx: &mut Context<'_>) -> bool {
        self.timer.insert(Box::pin(sleep(duration))).as_mut().poll(cx).is_ready()
    }

    /// Polls the agent and takes its events. Returns the outcome of the turn, if the turn ended.
    fn poll_agent(&mut self, cx: &mut Context<'_>) -> Option<Result<(), AgentError>> {
        let agent = self.agent.as_mut()?;
        self.events.disarm();
        let outcome = match catch_unwind(AssertUnwindSafe(|| agent.as_mut().poll(cx))) {
            Ok(Poll::Ready(outcome)) => Some(outcome),
            Ok(Poll::Pending) => None,
            Err(panic) => Some(Err(panicked(&*panic))),
        };
        if outcome.is_some() {
            // Events before the end of the turn count. Later events of detached tasks of the agent are refused.
            self.events.close();
        }
        self.events.take(cx, &mut self.received);
        outcome
    }
}

fn panicked(panic: &(dyn Any + Send)) -> AgentError {
    let cause = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "of a type that is not text".to_owned());
    AgentError::new("the agent panicked").with_source(cause)
}
