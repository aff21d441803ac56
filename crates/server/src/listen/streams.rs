//! The streams of one HTTP/2 connection: the number of open streams, and the streams that the client does not read.
//!
//! For HTTP/1, hyper closes idle connections, and the system closes connections whose peer does not read. A peer of
//! HTTP/2 can answer pings and still send no request, or not read a stream (RFC 9113, section 10.5).

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::rt::Executor;
use tokio::time::{Instant, Sleep};

tokio::task_local! {
    /// The time since which the stream of this task has a chunk that its client has not taken.
    static UNREAD: Cell<Option<Instant>>;
}

/// Records that the stream of this task has a chunk for its client.
pub(super) fn note_chunk() {
    let _ = UNREAD.try_with(|unread| unread.set(Some(Instant::now())));
}

/// Records that the client has taken all chunks of this task's stream.
pub(super) fn note_taken() {
    let _ = UNREAD.try_with(|unread| unread.set(None));
}

/// Runs each stream of a connection in its own task, and ends streams that the client does not read.
#[derive(Clone)]
pub(super) struct Streams {
    open: Arc<Mutex<Open>>,
    stall_time: Duration,
}

/// The number of open streams, and the time of its last change.
struct Open {
    count: usize,
    since: Instant,
}

impl Streams {
    pub(super) fn new(stall_time: Duration) -> Self {
        Self { open: Arc::new(Mutex::new(Open { count: 0, since: Instant::now() })), stall_time }
    }

    /// Waits until no stream was open for this time. The wait takes at least this time from its first poll.
    pub(super) fn idle(&self, time: Duration) -> impl Future<Output = ()> + use<> {
        let open = Arc::clone(&self.open);
        async move {
            let mut until = Instant::now() + time;
            loop {
                tokio::time::sleep_until(until).await;
                until = {
                    let open = lock(&open);
                    if open.count > 0 { Instant::now() + time } else { open.since + time }
                };
                if until <= Instant::now() {
                    return;
                }
            }
        }
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        let mut open = lock(&self.open);
        *open = Open { count: change(open.count), since: Instant::now() };
    }
}

fn lock(open: &Mutex<Open>) -> std::sync::MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        self.count(|open| open + 1);
        let counted = Counted(self.clone());
        tokio::spawn(UNREAD.scope(Cell::new(None), Watched { stream, timer: None, counted }));
    }
}

/// Counts a stream as open.
struct Counted(Streams);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count(|open| open - 1);
    }
}

pin_project_lite::pin_project! {
    /// A stream that is reset if its client does not read for too long.
    struct Watched<F> {
        #[pin]
        stream: F,
        // Most streams never need a timer.
        timer: Option<Pin<Box<Sleep>>>,
        counted: Counted,
    }
}

impl<F: Future<Output = ()>> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.stream.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(unread) = UNREAD.with(Cell::get) else { return Poll::Pending };
        let end = unread + this.counted.0.stall_time;
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if end <= Instant::now() {
                tracing::debug!("a client does not read a stream; resetting the stream");
                return Poll::Ready(());
            }
            timer.as_mut().reset(end);
        }
    }
}
