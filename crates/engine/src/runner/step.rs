//! One step of a runner: poll the agent, take what it said and what came from outside.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Poll},
};

use tokio::time::sleep;

use super::{Runner, Running, WORDS};
use crate::{agent::AgentError, inbox::Control, turn::Word};

/// What happened in a step.
#[derive(Default)]
pub(super) struct Step {
    pub(super) words: Vec<Word>,
    pub(super) controls: Vec<Control>,
    /// How the turn ended, if it did.
    pub(super) outcome: Option<Result<(), AgentError>>,
    /// Whether the timer has run out.
    pub(super) expired: bool,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.controls.is_empty() && self.outcome.is_none() && !self.expired
    }
}

impl Runner {
    /// Waits for something to happen.
    pub(super) async fn step(&mut self, running: &mut Running) -> Step {
        let mut step = Step::default();
        poll_fn(|cx| {
            running.poll_agent(cx, &mut step);
            self.hold.take_controls(cx, &mut step.controls);
            if let Some(timer) = &mut running.timer {
                step.expired = timer.as_mut().poll(cx).is_ready();
            } else if step.is_empty() && !self.writer.exists() {
                step.expired = self.poll_patience(running, cx);
            }
            if step.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        step
    }

    /// The agent has not spoken yet, and gives way: whether the task is to exist without its word.
    fn poll_patience(&self, running: &mut Running, cx: &mut Context<'_>) -> bool {
        if self.birth.as_ref().is_some_and(|birth| birth.patience.is_zero()) {
            return true;
        }
        if !self.hold.lock().registered {
            self.shared.register(self.hold.live());
        }
        let Some(birth) = &self.birth else { return false };
        let timer = running.timer.insert(Box::pin(sleep(birth.patience)));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl Running {
    /// Polls the agent, and takes what it said: at most a batch while it goes on, all of it when it has ended.
    fn poll_agent(&mut self, cx: &mut Context<'_>, step: &mut Step) {
        if let Some(agent) = &mut self.agent {
            match catch_unwind(AssertUnwindSafe(|| agent.as_mut().poll(cx))) {
                Ok(Poll::Ready(outcome)) => step.outcome = Some(outcome),
                Ok(Poll::Pending) => {}
                Err(panic) => step.outcome = Some(Err(panicked(&*panic))),
            }
        }
        let has_ended = step.outcome.is_some();
        if has_ended {
            // What it has said counts; what something it left behind says later does not.
            self.words.close();
        }
        while has_ended || step.words.len() < WORDS {
            match self.words.try_recv() {
                Ok(word) => step.words.push(word),
                Err(_) if has_ended => return,
                Err(_) => match self.words.poll_recv(cx) {
                    Poll::Ready(Some(word)) => step.words.push(word),
                    _ => return,
                },
            }
        }
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
