//! Buffers of large answers, each in memory once. An equal buffer is found by its length and samples of its bytes, and
//! then compared.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use nuncio_limit::Permit;
use nuncio_model::Principal;
use tokio::sync::Notify;

use super::in_flight::SharedReply;

/// The size of a sample in bytes, and the number of samples. These distinguish most buffers.
const SAMPLE: usize = 16;
const SAMPLES: usize = 16;

/// Length and samples.
type Fingerprint = (usize, [u8; SAMPLE * SAMPLES]);

/// The buffers that are being sent.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<HashMap<Fingerprint, Weak<Shared>>>);

/// A buffer, until its last reader has received the bytes.
#[derive(Debug)]
pub(crate) struct Shared {
    bytes: Bytes,
    pool: Arc<Pool>,
    _in_all: Permit,
    /// Each caller counts the buffer once.
    callers: Mutex<Vec<Weak<Permit>>>,
    room: Arc<Notify>,
    /// The last field, because the total count must be released before the notification. A buffer without a reader
    /// releases its count, too.
    _done: Done,
}

/// A reader's reference to a buffer.
struct ReaderBytes {
    shared: Arc<Shared>,
    _reply: Option<Arc<SharedReply>>,
    _of_caller: Arc<Permit>,
    /// The last field, because the notification must follow the release of the other fields.
    _done: Done,
}

/// Notifies calls that wait for room, on drop.
#[derive(Debug)]
pub(super) struct Done(pub(super) Arc<Notify>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fingerprint(bytes: &[u8]) -> Fingerprint {
    let mut samples = [0; SAMPLE * SAMPLES];
    let step = bytes.len() / SAMPLES;
    for (number, sample) in samples.chunks_mut(SAMPLE).enumerate() {
        let from = &bytes[number * step..];
        let length = sample.len().min(from.len());
        sample[..length].copy_from_slice(&from[..length]);
    }
    (bytes.len(), samples)
}

impl Pool {
    /// The buffer with these bytes.
    pub(super) fn find(&self, bytes: &Bytes) -> Option<Arc<Shared>> {
        let found = lock(&self.0).get(&fingerprint(bytes))?.upgrade()?;
        let is_same = found.bytes.as_ptr() == bytes.as_ptr() || found.bytes == bytes;
        is_same.then_some(found)
    }

    /// Adds a buffer, which counts.
    pub(super) fn put(self: &Arc<Self>, bytes: Bytes, in_all: Permit, room: &Arc<Notify>) -> Arc<Shared> {
        let fingerprint = fingerprint(&bytes);
        let (pool, room, done) = (Arc::clone(self), Arc::clone(room), Done(Arc::clone(room)));
        let shared = Arc::new(Shared { bytes, pool, _in_all: in_all, callers: Mutex::default(), room, _done: done });
        lock(&self.0).insert(fingerprint, Arc::downgrade(&shared));
        shared
    }
}

impl Shared {
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The count of a caller that has the buffer already.
    pub(super) fn permit_of(&self, principal: &Principal) -> Option<Arc<Permit>> {
        lock(&self.callers).iter().filter_map(Weak::upgrade).find(|permit| permit.principal() == principal)
    }

    /// Adds the count of a caller.
    pub(super) fn adopt(&self, of_caller: Permit) -> Arc<Permit> {
        let permit = Arc::new(of_caller);
        let mut callers = lock(&self.callers);
        callers.retain(|permit| permit.strong_count() > 0);
        callers.push(Arc::downgrade(&permit));
        permit
    }

    /// The bytes for a caller.
    pub(super) fn for_caller(self: Arc<Self>, of_caller: Arc<Permit>) -> Bytes {
        self.reader_bytes(None, of_caller)
    }

    /// The bytes for a caller. While these bytes exist, other readers of the same task can join the reply.
    pub(super) fn for_caller_of(self: Arc<Self>, reply: Arc<SharedReply>, of_caller: Arc<Permit>) -> Bytes {
        self.reader_bytes(Some(reply), of_caller)
    }

    fn reader_bytes(self: Arc<Self>, reply: Option<Arc<SharedReply>>, of_caller: Arc<Permit>) -> Bytes {
        let done = Done(Arc::clone(&self.room));
        Bytes::from_owner(ReaderBytes { shared: self, _reply: reply, _of_caller: of_caller, _done: done })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut buffers = lock(&self.pool.0);
        let fingerprint = fingerprint(&self.bytes);
        // Another buffer may have replaced this buffer in the pool.
        if buffers.get(&fingerprint).is_some_and(|shared| shared.strong_count() == 0) {
            buffers.remove(&fingerprint);
        }
    }
}

impl AsRef<[u8]> for ReaderBytes {
    fn as_ref(&self) -> &[u8] {
        &self.shared.bytes
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}
