//! Replies with a task that is being written, or read by somebody: who asks for the same joins.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use nuncio_model::{Error, Task};
use tokio::sync::OnceCell;

use super::{Encoding, shared::Shared};

/// Where the task is in memory, and how it is written.
type Key = (usize, Encoding);

/// The flights that somebody has joined.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Key, Weak<Flight>>>);

/// One task, written in one way.
#[derive(Debug)]
pub(super) struct Flight {
    key: Key,
    /// No other task has the same place in memory as long as this is there.
    _task: Weak<Task>,
    written: OnceCell<Arc<Shared>>,
    flights: Arc<Flights>,
}

impl Flights {
    /// The flight of this task, which nobody changes as long as it is shared.
    pub(super) fn join(self: &Arc<Self>, task: &Arc<Task>, encoding: Encoding) -> Arc<Flight> {
        let key = (Arc::as_ptr(task).addr(), encoding);
        let mut flights = self.lock();
        if let Some(flight) = flights.get(&key).and_then(Weak::upgrade) {
            return flight;
        }
        let (written, flights_of) = (OnceCell::new(), Arc::clone(self));
        let flight = Arc::new(Flight { key, _task: Arc::downgrade(task), written, flights: flights_of });
        flights.insert(key, Arc::downgrade(&flight));
        flight
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Weak<Flight>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The buffer: what `write` gives for who comes first. Others wait; where it fails, the next one writes.
    pub(super) async fn landed(
        &self,
        write: impl Future<Output = Result<Arc<Shared>, Error>>,
    ) -> Result<&Arc<Shared>, Error> {
        self.written.get_or_try_init(|| write).await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut flights = self.flights.lock();
        // Another may have begun meanwhile.
        if flights.get(&self.key).is_some_and(|flight| flight.strong_count() == 0) {
            flights.remove(&self.key);
        }
    }
}
