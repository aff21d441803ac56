//! The dispatcher: reads pending records from the outbox and delivers them to webhooks.

mod delivery;
mod id;
mod notice;
mod places;
mod post;
mod receivers;
mod schedule;

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Once},
    time::Duration,
};

use nuncio_engine::{Engine, TaskStore};
use nuncio_limit::sleep;
use nuncio_model::{Background, backend::Stop};
pub use places::Places;
use post::Post;
use receivers::Receivers;
use schedule::UnderWay;
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{guard::Guard, retry::Retry, signer::RequestSigner};

/// Delivers pending records to webhooks.
///
/// The events of one configuration are sent in order, each until the receiver acknowledges with 2xx. Different
/// configurations are delivered concurrently, up to [`DispatcherBuilder::concurrency`]. Callers, and hosts that are
/// unknown or slow, get a part of these places ([`Places`]), so that they do not delay others. Only the status of the
/// answer counts; the body is read for at most a second.
///
/// | answer | effect |
/// |---|---|
/// | 2xx | The event is delivered |
/// | 410 | The configuration is deleted |
/// | another 4xx that concerns the event | The event is retried by [`Retry`], then skipped |
/// | any other failure | The event is retried by [`Retry`], then all pending events but the newest are skipped |
///
/// The newest event of an ended task contains the outcome. After the attempts for the newest event have failed too, the
/// newest event is skipped. The configuration remains in all cases but 410.
///
/// Each notification has the header `webhook-id`, which names the task, the configuration and the event. The value is the
/// same for each attempt and unique among notifications.
///
/// A receiver gets the format of the protocol version under which the webhook was registered. Some versions send every
/// event; others send only changes of the status, with the whole task.
///
/// An event can be delivered twice, if the acknowledgement is lost or after a crash. A receiver detects the duplicate by
/// its `webhook-id`.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    wakeups: Arc<Notify>,
    post: Post,
    retry: Retry,
    concurrency: usize,
    receivers: Receivers,
    /// Limits the warning about a webhook with an unsupported version to one line.
    told_unknown: Once,
}

/// The settings of a [`Dispatcher`].
pub struct DispatcherBuilder {
    store: Arc<dyn TaskStore>,
    wakeups: Arc<Notify>,
    guard: Guard,
    retry: Retry,
    timeout: Duration,
    concurrency: usize,
    signer: Option<Arc<dyn RequestSigner>>,
}

/// TLS cannot be set up, so notifications cannot be sent.
#[derive(thiserror::Error)]
#[error("notifications cannot be sent")]
pub struct DispatcherError(#[from] nuncio_http::SetupError);

nuncio_model::debug_is_text!(DispatcherError);

impl DispatcherBuilder {
    /// The default timeout of an attempt.
    pub const TIMEOUT: Duration = Duration::from_secs(15);

    /// The default number of concurrent deliveries.
    pub const CONCURRENCY: usize = 32;

    /// The timeout of an attempt, until the status of the answer arrives. 15 s by default; the specification recommends 10
    /// to 30 s (section 4.3.3, Push Notification Payload). If nodes share a store, a claim of a push must last longer than
    /// this timeout and a second (`PostgresOptions::push_claim`).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The number of configurations with a delivery at the same time. 32 by default, and at least 1.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// The number of attempts and the delays between them.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Adds more headers to each attempt.
    pub fn signer(mut self, signer: impl RequestSigner) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// Creates the dispatcher.
    ///
    /// # Errors
    ///
    /// [`DispatcherError`] if the system's certificates cannot be used.
    pub fn build(self) -> Result<Dispatcher, DispatcherError> {
        Ok(Dispatcher(Arc::new(Inner {
            store: self.store,
            wakeups: self.wakeups,
            post: Post::new(self.guard, self.timeout, self.signer)?,
            retry: self.retry,
            concurrency: self.concurrency,
            receivers: Receivers::default(),
            told_unknown: Once::new(),
        })))
    }
}

impl Dispatcher {
    /// A dispatcher for the tasks of this engine. The guard should be the guard of the engine.
    pub fn builder(engine: &Engine, guard: Guard) -> DispatcherBuilder {
        DispatcherBuilder {
            store: Arc::clone(engine.store()),
            wakeups: Arc::clone(engine.push_wakeups()),
            guard,
            retry: Retry::default(),
            timeout: DispatcherBuilder::TIMEOUT,
            concurrency: DispatcherBuilder::CONCURRENCY,
            signer: None,
        }
    }

    /// Delivers until `stop` completes, then waits for running deliveries: at most the timeout of an attempt and a
    /// second. Run one dispatcher per store and node.
    ///
    /// If the future is dropped, running deliveries are aborted and repeated after the next start.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let stopped = CancellationToken::new();
        let mut work = std::pin::pin!(self.deliver(stopped.clone()));
        tokio::select! {
            () = &mut work => {}
            () = stop => {
                stopped.cancel();
                work.await;
            }
        }
    }

    async fn deliver(&self, stop: CancellationToken) {
        let mut deliveries = JoinSet::new();
        let mut under_way = HashMap::new();
        while !stop.is_cancelled() {
            let look = self.start_due(&mut deliveries, &mut under_way, &stop).await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.0.wakeups.notified() => {}
                () = sleep::after(look) => {}
                Some(_) = deliveries.join_next() => {
                    while deliveries.try_join_next().is_some() {}
                    under_way.retain(|_, it: &mut UnderWay| !it.delivery.is_finished());
                }
            }
        }
        while deliveries.join_next().await.is_some() {}
    }
}

impl Background for Dispatcher {
    fn run(self: Box<Self>, stop: Stop) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { Dispatcher::run(&self, stop).await })
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("retry", &self.0.retry).finish_non_exhaustive()
    }
}
