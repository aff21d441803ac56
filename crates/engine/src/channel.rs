//! The bounded queue of events from an agent to its runner.
//!
//! The runner usually polls the agent, so one task polls both ends. The runner therefore takes whole batches, and a
//! sender does not wake a runner that is polling the agent.

use std::{
    fmt,
    future::poll_fn,
    mem,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

use crate::{live::set_waker, turn::AgentEvent};

/// The largest number of events in the queue.
pub(crate) const LIMIT: usize = 256;

/// The number of bytes at which the queue is full. The event that reaches this number is still accepted.
pub(crate) const FULL: usize = 256 * 1024;

/// Whether a batch was so large that the agent may have waited for the queue.
pub(crate) fn is_flood(events: &[AgentEvent]) -> bool {
    events.len() >= LIMIT || events.iter().map(|event| event.bytes).sum::<usize>() >= FULL
}

/// An open queue.
pub(crate) fn channel() -> (Sender, Receiver) {
    let state = Arc::<Mutex<QueueState>>::default();
    (Sender(Arc::clone(&state)), Receiver(state))
}

#[derive(Default)]
struct QueueState {
    events: Vec<AgentEvent>,
    /// The size of the queued events.
    bytes: usize,
    is_closed: bool,
    /// The runner, if it waits for events.
    runner: Option<Waker>,
    /// Senders that wait for a free place.
    senders: Vec<Waker>,
}

/// The end of the agent.
pub(crate) struct Sender(Arc<Mutex<QueueState>>);

impl Sender {
    /// Queues an event when the queue has a free place. Returns `false` if the queue is closed.
    pub(crate) async fn send(&self, event: AgentEvent) -> bool {
        let mut event = Some(event);
        poll_fn(|cx| {
            let mut state = self.0.lock();
            if state.is_closed {
                return Poll::Ready(false);
            }
            if state.events.len() >= LIMIT || state.bytes >= FULL {
                if !state.senders.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.senders.push(cx.waker().clone());
                }
                return Poll::Pending;
            }
            if let Some(event) = event.take() {
                state.bytes += event.bytes;
                state.events.push(event);
            }
            let runner = state.runner.take();
            drop(state);
            if let Some(runner) = runner {
                runner.wake();
            }
            Poll::Ready(true)
        })
        .await
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// The end of the runner. Dropping the receiver closes the queue.
pub(crate) struct Receiver(Arc<Mutex<QueueState>>);

impl Receiver {
    /// Removes the waker of the runner, because the runner will call [`Self::take`] itself.
    pub(crate) fn disarm(&self) {
        self.0.lock().runner = None;
    }

    /// Takes all queued events. If there are none, the next event wakes the runner.
    pub(crate) fn take(&self, cx: &Context<'_>, into: &mut Vec<AgentEvent>) {
        let mut state = self.0.lock();
        if state.events.is_empty() {
            set_waker(&mut state.runner, cx);
            return;
        }
        state.bytes = 0;
        if into.is_empty() {
            mem::swap(&mut state.events, into);
        } else {
            into.append(&mut state.events);
        }
        wake_senders(state);
    }

    /// Closes the queue: later events are refused.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        wake_senders(state);
    }
}

fn wake_senders(mut state: parking_lot::MutexGuard<'_, QueueState>) {
    let senders = mem::take(&mut state.senders);
    drop(state);
    senders.into_iter().for_each(Waker::wake);
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{FutureExt, future::join_all};
    use nuncio_model::{Message, StreamResponse};

    use super::{FULL, LIMIT, channel, is_flood};
    use crate::turn::AgentEvent;

    fn event() -> AgentEvent {
        AgentEvent::new(StreamResponse::Message(Message::agent("x")))
    }

    async fn take(receiver: &super::Receiver) -> usize {
        let mut events = Vec::new();
        std::future::poll_fn(|cx| {
            receiver.take(cx, &mut events);
            if events.is_empty() { std::task::Poll::Pending } else { std::task::Poll::Ready(events.len()) }
        })
        .await
    }

    #[tokio::test]
    async fn a_full_queue_delays_senders_until_a_place_is_free_or_the_queue_is_closed() {
        let (sender, receiver) = channel();
        for _ in 0..LIMIT {
            assert_eq!(sender.send(event()).now_or_never(), Some(true));
        }
        assert_eq!(sender.send(event()).now_or_never(), None);
        let (sent, taken) = futures_util::join!(sender.send(event()), take(&receiver));
        assert_eq!((sent, taken), (true, LIMIT));
        for _ in 1..LIMIT {
            assert!(sender.send(event()).await);
        }
        let (sent, ()) = futures_util::join!(sender.send(event()), async { drop(receiver) });
        assert!(!sent);
        assert!(!sender.send(event()).await);
    }

    #[tokio::test]
    async fn few_large_events_fill_a_queue() {
        let large = || AgentEvent::new(StreamResponse::Message(Message::agent("x".repeat(FULL / 2))));
        let (sender, receiver) = channel();
        for _ in 0..2 {
            assert_eq!(sender.send(large()).now_or_never(), Some(true));
        }
        assert_eq!(sender.send(large()).now_or_never(), None);
        assert!(is_flood(&[large(), large()]) && !is_flood(&[large()]));
        // A queue that is not full accepts an event of any size.
        let huge = AgentEvent::new(StreamResponse::Message(Message::agent("x".repeat(3 * FULL))));
        assert_eq!(take(&receiver).await, 2);
        assert_eq!(sender.send(huge).now_or_never(), Some(true));
        assert_eq!(sender.send(event()).now_or_never(), None);
        assert_eq!(take(&receiver).await, 1);
        assert_eq!(sender.send(event()).now_or_never(), Some(true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn events_of_many_senders_are_all_received() {
        let (sender, receiver) = channel();
        let sender = Arc::new(sender);
        let senders = (0..8).map(|_| {
            let sender = Arc::clone(&sender);
            tokio::spawn(async move {
                for _ in 0..2_000 {
                    assert!(sender.send(event()).await);
                }
            })
        });
        let senders = join_all(senders.collect::<Vec<_>>());
        let mut count = 0;
        while count < 16_000 {
            count += take(&receiver).await;
        }
        assert_eq!(count, 16_000);
        senders.await.into_iter().for_each(|sender| sender.unwrap());
    }
}
