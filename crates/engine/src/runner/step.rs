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
    pub(super) words: Vec<Box<Word>>,
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
            if let Some(agent) = &mut running.agent {
                match catch_unwind(AssertUnwindSafe(|| agent.as_mut().poll(cx))) {
                    Ok(Poll::Ready(outcome)) => step.outcome = Some(outcome),
                    Ok(Poll::Pending) => {}
                    Err(panic) => step.outcome = Some(Err(panicked(&*panic))),
                }
                if step.outcome.is_some() {
                    // What it has said counts; what something it left behind says later does not.
                    running.words.close();
                }
            }
            drain(running, step.outcome.is_some(), &mut step.words, cx);
            self.hold.take_controls(cx, &mut step.controls);
            if let Some(timer) = &mut running.timer {
                step.expired = timer.as_mut().poll(cx).is_ready();
            } else if let Some(birth) = &self.birth
                && step.is_empty()
                && !running.replied
            {
                if birth.patience.is_zero() {
                    step.expired = true;
                } else {
                    let timer = running.timer.insert(Box::pin(sleep(birth.patience)));
                    step.expired = timer.as_mut().poll(cx).is_ready();
                }
            }
            if step.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        step
    }
}

/// Takes the words that are there: at most a batch while the agent goes on, all of them when it has ended.
fn drain(running: &mut Running, ended: bool, words: &mut Vec<Box<Word>>, cx: &mut Context<'_>) {
    while ended || words.len() < WORDS {
        match running.words.try_recv() {
            Ok(word) => words.push(word),
            Err(_) if ended => return,
            Err(_) => match running.words.poll_recv(cx) {
                Poll::Ready(Some(word)) => words.push(word),
                _ => return,
            },
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
