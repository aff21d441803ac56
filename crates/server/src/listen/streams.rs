//! The streams of one connection of HTTP/2: how many are open, and which of them their client leaves unread.
//!
//! hyper ends an idle connection of HTTP/1 and the system one whose peer takes nothing. Over HTTP/2 a peer can answer
//! pings and yet ask for nothing, or take nothing of a stream (RFC 9113, section 10.5).

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
    /// Since when the stream that this task runs has had a piece for its client that was not taken.
    static UNREAD: Cell<Option<Instant>>;
}

/// Notes that the stream of this task has a piece that its client is to take.
pub(super) fn note_piece() {
    let _ = UNREAD.try_with(|unread| unread.set(Some(Instant::now())));
}

/// Notes that the client of this task's stream has taken all that there was.
pub(super) fn note_taken() {
    let _ = UNREAD.try_with(|unread| unread.set(None));
}

/// Runs the streams of one connection, each in a task of its own, and ends those that are left unread.
#[derive(Clone)]
pub(super) struct Streams {
    open: Arc<Mutex<Open>>,
    stall_time: Duration,
}

/// How many streams are open, and since when there are as many.
struct Open {
    count: usize,
    since: Instant,
}

impl Streams {
    pub(super) fn new(stall_time: Duration) -> Self {
        Self { open: Arc::new(Mutex::new(Open { count: 0, since: Instant::now() })), stall_time }
    }

    /// Waits until no stream has been open for this long, and no less than that from when it is first polled.
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
    /// A stream that ends, reset, when it has had something for its client for too long.
    struct Watched<F> {
        #[pin]
        stream: F,
        // Most streams never need one.
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
                tracing::debug!("a stream is left unread");
                return Poll::Ready(());
            }
            timer.as_mut().reset(end);
        }
    }
}
