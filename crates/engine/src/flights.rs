//! Messages that may begin something, from the moment they come until it is in the store: a repetition waits for the
//! outcome of the one that came first.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use nuncio_model::{Message, MessageId, Scope};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

type Key = (Scope, MessageId);

/// The messages under way. Only where ids count.
#[derive(Default)]
pub(crate) struct Flights(Mutex<HashMap<Key, Arc<Progress>>>);

#[derive(Default)]
pub(crate) struct Progress {
    landed: CancellationToken,
    /// The agent's direct answer.
    answer: OnceLock<Message>,
}

impl Progress {
    /// Waits until it is over: the task is in the store, or the agent has answered directly, or nothing came of it.
    pub(crate) async fn landed(&self) -> Option<&Message> {
        self.landed.cancelled().await;
        self.answer.get()
    }
}

/// Who is first, and who is not.
pub(crate) enum Boarding {
    First(Flight),
    Again(Arc<Progress>),
}

/// The first message of its id. Dropped once it is in the store, or nothing will come of it.
pub(crate) struct Flight {
    flights: Arc<Flights>,
    key: Key,
    progress: Arc<Progress>,
}

impl Flights {
    pub(crate) fn board(self: &Arc<Self>, scope: &Scope, message: &MessageId) -> Boarding {
        let key = (scope.clone(), message.clone());
        let mut flights = self.0.lock();
        if let Some(progress) = flights.get(&key) {
            return Boarding::Again(Arc::clone(progress));
        }
        let progress = Arc::<Progress>::default();
        flights.insert(key.clone(), Arc::clone(&progress));
        Boarding::First(Flight { flights: Arc::clone(self), key, progress })
    }
}

impl Flight {
    /// The agent answers directly: there is no task, and nothing will be in the store.
    pub(crate) fn answer(self, message: &Message) {
        // It answers once.
        drop(self.progress.answer.set(message.clone()));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.0.lock().remove(&self.key);
        self.progress.landed.cancel();
    }
}
