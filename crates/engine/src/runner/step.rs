//! One step of a runner: poll the agent, take what it said and what came from outside.

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

/// What happened in a step, beside what the agent said.
#[derive(Default)]
pub(super) struct Step {
    pub(super) controls: Vec<Control>,
    /// How the turn ended, if it did.
    pub(super) outcome: Option<Result<(), AgentError>>,
    /// Whether the timer has run out.
    pub(super) expired: bool,
    /// Whether the agent may have been silent for too long.
    pub(super) is_silent: bool,
}

impl Runner {
    /// Waits for something to happen.
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
                step.expired =
                    deferred.first_event_timeout.is_zero() || running.set_timer(deferred.first_event_timeout, cx);
            }
            if let Some(idle_timeout) = &mut running.idle_timeout {
                if !is_quiet {
                    idle_timeout.reset();
                }
                step.is_silent = idle_timeout.poll(cx);
            }
            if !is_quiet || step.expired || step.is_silent || !step.controls.is_empty() {
                return Poll::Ready(());
            }
            if !can_be_found {
                // It takes its time: the engine may have to stop before it is done.
                self.shared.register(self.task_ref.live());
            }
            Poll::Pending
        })
        .await;
        step
    }
}

impl Running {
    /// Sets the timer. Whether it has run out already.
    fn set_timer(&mut self, duration: Duration, cx: &mut Context<'_>) -> bool {
        self.timer.insert(Box::pin(sleep(duration))).as_mut().poll(cx).is_ready()
    }

    /// Polls the agent, and takes what it said. How its turn ended, if it did.
    fn poll_agent(&mut self, cx: &mut Context<'_>) -> Option<Result<(), AgentError>> {
        let agent = self.agent.as_mut()?;
        self.events.disarm();
        let outcome = match catch_unwind(AssertUnwindSafe(|| agent.as_mut().poll(cx))) {
            Ok(Poll::Ready(outcome)) => Some(outcome),
            Ok(Poll::Pending) => None,
            Err(panic) => Some(Err(panicked(&*panic))),
        };
        if outcome.is_some() {
            // What it has said counts; what something it left behind says later does not.
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
