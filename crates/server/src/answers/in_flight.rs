//! Replies in flight: replies that are being encoded or sent. A request for the same bytes shares the reply.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use nuncio_model::{Error, Task};
use tokio::sync::OnceCell;

use super::{Encoding, shared::Shared};

/// The address of the task in memory, and the encoding of the reply.
type Key = (usize, Encoding);

/// The replies in flight.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<Key, Weak<SharedReply>>>);

/// One task in one encoding, for all requests for the same bytes.
#[derive(Debug)]
pub(super) struct SharedReply {
    key: Key,
    /// While this reference exists, no other task can have the same address.
    _task: Weak<Task>,
    written: OnceCell<Arc<Shared>>,
    in_flight: Arc<InFlight>,
}

impl InFlight {
    /// Joins the reply in flight with this task, or leads a new one. A shared task does not change.
    pub(super) fn join_or_lead(self: &Arc<Self>, task: &Arc<Task>, encoding: Encoding) -> Arc<SharedReply> {
        let key = (Arc::as_ptr(task).addr(), encoding);
        let mut replies = self.lock();
        if let Some(reply) = replies.get(&key).and_then(Weak::upgrade) {
            return reply;
        }
        let (written, in_flight) = (OnceCell::new(), Arc::clone(self));
        let reply = Arc::new(SharedReply { key, _task: Arc::downgrade(task), written, in_flight });
        replies.insert(key, Arc::downgrade(&reply));
        reply
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Weak<SharedReply>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedReply {
    /// The buffer. The first caller leads and runs `write`; other callers wait. If `write` fails, the next caller leads.
    pub(super) async fn wait(
        &self,
        write: impl Future<Output = Result<Arc<Shared>, Error>>,
    ) -> Result<&Arc<Shared>, Error> {
        self.written.get_or_try_init(|| write).await
    }
}

impl Drop for SharedReply {
    fn drop(&mut self) {
        let mut replies = self.in_flight.lock();
        // A new reply may have taken the key since the last reference to this reply was dropped.
        if replies.get(&self.key).is_some_and(|reply| reply.strong_count() == 0) {
            replies.remove(&self.key);
        }
    }
}
