//! Memory of the answers that are being sent: large answers are counted, and equal bytes for several readers are in
//! memory once.
//!
//! An answer below [`LARGE`] is one buffer and is not counted, because the limits of requests and connections bound
//! small answers. A larger answer counts from before its encoding until the system has its last byte. The answer counts
//! for all callers together and for its own caller. Readers of one task share the buffer. Answers with equal bytes
//! share a buffer, too.

mod in_flight;
mod outgoing;
mod shared;

use std::sync::Arc;

use bytes::Bytes;
use nuncio_limit::{Gauge, Most, Permit, Quota, offload::Offload};
use nuncio_model::{Error, ErrorKind, Method, Principal, Reply};
use nuncio_wire::Version;
use tokio::{
    sync::Notify,
    time::{Duration, Instant, timeout_at},
};

pub(crate) use self::outgoing::{Outgoing, Taken};
use self::{
    in_flight::InFlight,
    shared::{Done, Pool, Shared},
};
use crate::{binding::Binding, limits::Limits};

/// The size in bytes from which answers and pieces of a stream are large.
pub(crate) const LARGE: usize = 64 * 1024;

/// The longest wait for room if the call has changed something. A refusal could make the caller repeat such a call.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// Counts large answers.
#[derive(Debug)]
pub(crate) struct Answers {
    in_all: Arc<Gauge>,
    by_caller: Arc<Gauge>,
    pool: Arc<Pool>,
    in_flight: Arc<InFlight>,
    /// Is notified when an answer is done.
    room: Arc<Notify>,
    /// The threads that encode large answers and decode large bodies.
    pub(crate) offload: Offload,
}

/// The way a reply is encoded. Replies to one method have the same bytes if all these fields are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Encoding {
    pub(crate) binding: Binding,
    pub(crate) version: Version,
    /// Distinguishes the encodings that a version has in one binding.
    pub(crate) slot: usize,
    pub(crate) method: Method,
}

/// The counts for an answer that is being encoded: of all callers, and of this caller.
struct Reserved {
    in_all: Permit,
    of_caller: Permit,
    /// The last field, because both counts must be released before the notification. An answer that is abandoned
    /// releases its counts, too.
    _done: Done,
}

impl Answers {
    pub(crate) fn new(limits: &Limits) -> Self {
        let gauge = |in_all, per_caller| {
            let what = "bytes of answers are under way";
            // An answer that is larger than the limit must be possible, too.
            Gauge::allowing_one(Quota { what, in_all, per_caller, kind: ErrorKind::Unavailable })
        };
        Self {
            in_all: gauge(Most::new("answer_bytes", limits.answer_bytes), Most::NONE),
            by_caller: gauge(Most::NONE, Most::new("answer_bytes_per_caller", limits.answer_bytes_per_caller)),
            pool: Arc::default(),
            in_flight: Arc::default(),
            room: Arc::default(),
            offload: Offload::new(limits.large_at_once),
        }
    }

    /// Encodes a large reply with about `carried` bytes of content. The bytes count for this caller until they are
    /// dropped.
    ///
    /// Fails as `encode` does, and as [`Gauge::take`] does if too many bytes of answers are being sent.
    pub(crate) async fn of_reply(
        &self,
        principal: &Principal,
        reply: Reply,
        carried: usize,
        encoding: Encoding,
        encode: impl FnOnce(&Reply, &mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<Bytes, Error> {
        let shared_reply = match &reply {
            Reply::Task(task) => Some(self.in_flight.join_or_lead(task, encoding)),
            _ => None,
        };
        // The reply is dropped after the encoding; only its bytes remain in memory.
        let write = self.write(principal, carried, encoding.method, move |to| encode(&reply, to));
        let Some(shared_reply) = shared_reply else {
            let (shared, of_caller) = write.await?;
            return Ok(shared.for_caller(of_caller));
        };
        let mut of_caller = None;
        let first = async {
            let (shared, permit) = write.await?;
            of_caller = Some(permit);
            Ok::<_, Error>(shared)
        };
        let shared = Arc::clone(shared_reply.wait(first).await?);
        let of_caller = match of_caller {
            Some(of_caller) => of_caller,
            None => self.take_or_wait(is_safe(encoding.method), || self.of_caller(principal, &shared)).await?,
        };
        Ok(shared.for_caller_of(shared_reply, of_caller))
    }

    /// Counts the bytes of an answer that is large after its encoding, for this caller.
    ///
    /// Fails as [`Gauge::take`] does.
    pub(crate) async fn of_written(&self, principal: &Principal, bytes: Bytes, method: Method) -> Result<Bytes, Error> {
        self.take_or_wait(is_safe(method), || self.of_bytes(principal, &bytes)).await
    }

    /// Encodes a large event of a stream with about `carried` bytes of content. The bytes count for this caller until
    /// they are dropped. `is_kept` means that the event keeps the result of `encode` for other readers.
    ///
    /// Fails as [`Gauge::take`] does. The caller tries again when [`room`](Self::room) is ready.
    fn of_event(
        &self,
        principal: &Principal,
        carried: usize,
        is_kept: bool,
        encode: impl FnOnce() -> Bytes,
    ) -> Result<Bytes, Error> {
        if is_kept {
            return self.of_bytes(principal, &self.offload.run_now(carried, encode));
        }
        let reserved = self.reserve(principal, carried)?;
        let (shared, of_caller) = self.offload.run_now(carried, || self.pooled(encode(), reserved));
        Ok(shared.for_caller(of_caller))
    }

    fn of_bytes(&self, principal: &Principal, bytes: &Bytes) -> Result<Bytes, Error> {
        let shared = match self.pool.find(bytes) {
            Some(shared) => shared,
            None => self.pool.put(bytes.clone(), self.in_all.take(principal, bytes.len())?, &self.room),
        };
        let of_caller = self.of_caller(principal, &shared)?;
        Ok(shared.for_caller(of_caller))
    }

    /// Waits until an answer is done. The wait begins with this call, not with the first poll.
    pub(crate) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.room).notified_owned()
    }

    /// Encodes a reply, outside of the runtime's threads if the reply is large.
    async fn write(
        &self,
        principal: &Principal,
        carried: usize,
        method: Method,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(Arc<Shared>, Arc<Permit>), Error> {
        let reserved = self.take_or_wait(is_safe(method), || self.reserve(principal, carried)).await?;
        let place = self.offload.place(carried).await;
        place.run(|| {
            // The buffer is large enough for all content, also with escapes. The system gives no memory for pages that
            // are not written.
            let mut to = Vec::with_capacity(2 * carried + LARGE);
            encode(&mut to)?;
            to.shrink_to_fit();
            Ok(self.pooled(to.into(), reserved))
        })
    }

    fn reserve(&self, principal: &Principal, bytes: usize) -> Result<Reserved, Error> {
        let of_caller = self.by_caller.take(principal, bytes)?;
        let in_all = self.in_all.take(principal, bytes)?;
        Ok(Reserved { in_all, of_caller, _done: Done(Arc::clone(&self.room)) })
    }

    /// Puts the encoded bytes into the pool, or finds equal bytes in the pool.
    fn pooled(
        &self,
        bytes: Bytes,
        Reserved { mut in_all, mut of_caller, _done }: Reserved,
    ) -> (Arc<Shared>, Arc<Permit>) {
        let size = bytes.len();
        let shared = self.pool.find(&bytes).unwrap_or_else(|| {
            in_all.set(size);
            self.pool.put(bytes, in_all, &self.room)
        });
        let permit = shared.permit_of(of_caller.principal()).unwrap_or_else(|| {
            of_caller.set(size);
            shared.adopt(of_caller)
        });
        (shared, permit)
    }

    /// Counts a buffer for this caller, once.
    fn of_caller(&self, principal: &Principal, shared: &Shared) -> Result<Arc<Permit>, Error> {
        match shared.permit_of(principal) {
            Some(permit) => Ok(permit),
            None => Ok(shared.adopt(self.by_caller.take(principal, shared.bytes().len())?)),
        }
    }

    /// Takes room, or waits for room. A call that only reads is refused at once, because the caller can repeat the
    /// call. Any other call waits; its error then has no time for a repetition.
    async fn take_or_wait<T>(&self, is_safe: bool, take: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        let until = Instant::now() + ROOM_TIMEOUT;
        loop {
            let room = self.room();
            let error = match take() {
                Err(error) if !is_safe => error,
                taken => return taken,
            };
            if timeout_at(until, room).await.is_err() {
                let message = "the call was executed, but there is no room to send its reply; \
                               read the task";
                let limit = error.metadata().get("limit").map_or("", |limit| limit).to_owned();
                return Err(Error::new(error.kind(), message).with_metadata("limit", limit));
            }
        }
    }
}

/// Whether a call changes nothing. Such a call can be refused after its execution.
fn is_safe(method: Method) -> bool {
    matches!(method, Method::GetTask | Method::ListTasks | Method::SubscribeToTask)
}
