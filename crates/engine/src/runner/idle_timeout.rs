//! How long a turn may be silent.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use nuncio_model::{Message, TaskState};
use tokio::time::{Instant, Sleep, sleep};

use super::{Runner, Running};
use crate::housekeeping::in_words;

/// For how long the timer is set at most.
const LONG: Duration = Duration::from_hours(1);

/// Watches a turn for silence. There is none where no limit is set.
pub(super) struct Patience {
    timer: Pin<Box<Sleep>>,
    last_word: Instant,
}

impl Patience {
    fn new(shortest: Duration) -> Self {
        Self { timer: Box::pin(sleep(shortest)), last_word: Instant::now() }
    }

    /// The agent has said something. The timer stays as it is, so that a word costs no more than a look at the clock.
    pub(super) fn heard(&mut self) {
        self.last_word = Instant::now();
    }

    /// Whether it is time to look whether the silence is too long.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        self.timer.as_mut().poll(cx) == Poll::Ready(())
    }
}

impl Runner {
    /// The patience with a new turn.
    pub(super) fn patience(&self) -> Option<Patience> {
        let limits = [self.shared.limits.stall_timeout, self.shared.housekeeping.settings.interrupted_expiry];
        limits.into_iter().flatten().min().map(Patience::new)
    }

    /// Ends a turn that has been silent for too long. While it waits for its client it may be for as long as any task
    /// that does.
    pub(super) fn lose_patience(&mut self, running: &mut Running) {
        let waits = self.writer.state().is_interrupted();
        let limit =
            if waits { self.shared.housekeeping.settings.interrupted_expiry } else { self.shared.limits.stall_timeout };
        let is_over = running.replied || running.cancelled.is_cancelled() || self.writer.state().is_terminal();
        let Some(patience) = running.patience.as_mut() else { return };
        let silence = patience.last_word.elapsed();
        let left = limit.map_or(LONG, |limit| limit.saturating_sub(silence));
        if is_over || !left.is_zero() {
            // A turn that is over has another timer; and a long time is looked at more than once.
            let left = if is_over { LONG } else { left.min(LONG) };
            patience.timer.as_mut().reset(Instant::now() + left);
            return;
        }
        let time = in_words(limit.unwrap_or_default());
        let reason = if waits { unanswered(&time) } else { format!("the agent was silent for {time}") };
        tracing::warn!(task = %self.task_ref.id, "{reason}");
        running.cut_off();
        self.end(TaskState::Failed, Some(Message::agent(reason)));
    }
}

/// Why a task fails whose client does not answer.
pub(super) fn unanswered(time: &str) -> String {
    format!("the task waited for its client, and nobody answered within {time}")
}
