//! Ends a turn after the agent has emitted no event for too long.

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

/// The longest time for which the timer is set.
const LONG: Duration = Duration::from_hours(1);

/// Measures the time since the last event of a turn. A turn without a limit has no idle timeout.
pub(super) struct IdleTimeout {
    timer: Pin<Box<Sleep>>,
    last_event: Instant,
}

impl IdleTimeout {
    fn new(shortest: Duration) -> Self {
        Self { timer: Box::pin(sleep(shortest)), last_event: Instant::now() }
    }

    /// The agent has emitted an event. The timer does not change, so that an event costs only a look at the clock.
    pub(super) fn reset(&mut self) {
        self.last_event = Instant::now();
    }

    /// Whether the timer has expired. The runner then compares the idle time with the limit.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        self.timer.as_mut().poll(cx) == Poll::Ready(())
    }
}

impl Runner {
    /// The idle timeout of a new turn.
    pub(super) fn idle_timeout(&self) -> Option<IdleTimeout> {
        let limits = [self.shared.limits.stall_timeout, self.shared.housekeeping.settings.interrupted_expiry];
        limits.into_iter().flatten().min().map(IdleTimeout::new)
    }

    /// Ends a turn that has been idle for too long. While the task waits for its client, the limit is the expiry of
    /// interrupted tasks.
    pub(super) fn check_idle_timeout(&mut self, running: &mut Running) {
        let waits = self.writer.state().is_interrupted();
        let limit =
            if waits { self.shared.housekeeping.settings.interrupted_expiry } else { self.shared.limits.stall_timeout };
        let is_over = running.replied || running.cancelled.is_cancelled() || self.writer.state().is_terminal();
        let Some(idle_timeout) = running.idle_timeout.as_mut() else { return };
        let idle = idle_timeout.last_event.elapsed();
        let left = limit.map_or(LONG, |limit| limit.saturating_sub(idle));
        if is_over || !left.is_zero() {
            // A turn that is over has a timer of its own. A timer for a long time is set several times.
            let left = if is_over { LONG } else { left.min(LONG) };
            idle_timeout.timer.as_mut().reset(Instant::now() + left);
            return;
        }
        let time = in_words(limit.unwrap_or_default());
        let reason = if waits { unanswered(&time) } else { format!("the agent was silent for {time}") };
        tracing::warn!(task = %self.task_ref.id, "{reason}");
        running.cut_off();
        self.end(TaskState::Failed, Some(Message::agent(reason)));
    }
}

/// The failure reason of a task without an answer of its client.
pub(super) fn unanswered(time: &str) -> String {
    format!("the task waited for its client, and nobody answered within {time}")
}
