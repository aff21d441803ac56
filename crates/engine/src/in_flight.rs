//! Requests in flight: messages from their arrival until the store has them. A duplicate of such a message waits for
//! the outcome of the first request.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use nuncio_model::{Message, MessageId, Scope};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

type MessageKey = (Scope, MessageId);

/// The requests in flight, by message. Used only if the engine deduplicates messages.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashMap<MessageKey, Arc<Outcome>>>);

/// The outcome of a request in flight.
#[derive(Default)]
pub(crate) struct Outcome {
    done: CancellationToken,
    /// The direct answer of the agent.
    answer: OnceLock<Message>,
}

impl Outcome {
    /// Waits until the request is no longer in flight: the task is in the store, the agent has answered directly, or the
    /// request failed. Returns the direct answer, if there is one.
    pub(crate) async fn wait(&self) -> Option<&Message> {
        self.done.cancelled().await;
        self.answer.get()
    }
}

/// The position of a request among all requests with the same message.
pub(crate) enum Position {
    /// The first request. It does the work.
    Leader(Leader),
    /// A duplicate. It waits for the leader.
    Duplicate(Arc<Outcome>),
}

/// The first request with its message. Drop the leader when the message is in the store, or when the request failed.
pub(crate) struct Leader {
    in_flight: Arc<InFlight>,
    key: MessageKey,
    outcome: Arc<Outcome>,
}

impl InFlight {
    /// Joins the request in flight with the same message, or leads a new one.
    pub(crate) fn join_or_lead(self: &Arc<Self>, scope: &Scope, message: &MessageId) -> Position {
        let key = (scope.clone(), message.clone());
        let mut outcomes = self.0.lock();
        if let Some(outcome) = outcomes.get(&key) {
            return Position::Duplicate(Arc::clone(outcome));
        }
        let outcome = Arc::<Outcome>::default();
        outcomes.insert(key.clone(), Arc::clone(&outcome));
        Position::Leader(Leader { in_flight: Arc::clone(self), key, outcome })
    }
}

impl Leader {
    /// The agent answered directly: no task exists, and the store will not have the message.
    pub(crate) fn answer(self, message: &Message) {
        // `answer` takes the leader, so this is the only answer.
        drop(self.outcome.answer.set(message.clone()));
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.in_flight.0.lock().remove(&self.key);
        self.outcome.done.cancel();
    }
}
