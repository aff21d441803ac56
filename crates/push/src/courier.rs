//! The courier: takes what the store owes to webhooks, and delivers it.

mod id;
mod look;
mod notice;
mod places;
mod post;
mod receivers;
mod round;

use std::{
    collections::HashMap,
    sync::{Arc, Once},
    time::Duration,
};

use look::UnderWay;
use nuncio_engine::{Engine, TaskStore};
use nuncio_limit::sleep;
pub use places::Places;
use post::Post;
use receivers::Receivers;
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{guard::Guard, retry::Retry, stamp::Stamp};

/// Delivers what the store owes to webhooks.
///
/// The events of one configuration go out one after the other, in order, each until a 2xx acknowledges it; those of
/// different configurations side by side, as many as [`CourierBuilder::concurrency`] says. Callers, and hosts that do
/// not answer or have not answered yet, have parts of these places ([`Places`]), so that they delay nobody else. The
/// status alone counts: what follows it is read for a second at most. A receiver that fails is tried again as [`Retry`]
/// says. When that is over, what is owed to it is given up but for its newest event, which has the outcome of a task
/// that has ended; and when that too has failed as often, this one as well. A receiver that lives but refuses one event
/// with a 4xx loses that event alone. A receiver that answers 410 is gone: its configuration is deleted. The
/// configuration stays in all other cases.
///
/// Each notification carries the header `webhook-id`, which names the task, the configuration and the event: it is the
/// same at each attempt, and no other event has it.
///
/// A receiver is told in the version under which its webhook was registered. Some versions tell of every event, others
/// only of a change of status, with the whole task.
///
/// An event can be delivered twice: when the acknowledgement is lost, and after a crash. A receiver finds the repetition
/// by its `webhook-id`.
#[derive(Clone)]
pub struct Courier(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    wakeups: Arc<Notify>,
    post: Post,
    retry: Retry,
    concurrency: usize,
    receivers: Receivers,
    /// Whether the log has it that a webhook wants a version that is not spoken here.
    told_unknown: Once,
}

/// What a courier is made of.
pub struct CourierBuilder {
    store: Arc<dyn TaskStore>,
    wakeups: Arc<Notify>,
    guard: Guard,
    retry: Retry,
    timeout: Duration,
    concurrency: usize,
    stamp: Option<Arc<dyn Stamp>>,
}

/// Why there can be no courier: TLS cannot be set up.
#[derive(thiserror::Error)]
#[error("notifications cannot be sent")]
pub struct CourierError(#[from] nuncio_http::SetupError);

nuncio_model::debug_is_text!(CourierError);

impl CourierBuilder {
    /// How long one attempt may take, where nothing else is said.
    pub const TIMEOUT: Duration = Duration::from_secs(15);

    /// How many configurations are delivered to at the same time, where nothing else is said.
    pub const CONCURRENCY: usize = 32;

    /// How long one attempt may take, until the status of its answer is there. 15 s by default; the specification
    /// recommends 10 to 30 s (NOTIFY-11). Where nodes share a store, it must have its pushes for each node alone for
    /// longer than this and a second (`PostgresOptions::push_claim`).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many configurations are delivered to at the same time. 32 by default, and at least 1.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// How often and when it tries again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// What adds more headers.
    pub fn stamp(mut self, stamp: impl Stamp) -> Self {
        self.stamp = Some(Arc::new(stamp));
        self
    }

    /// The courier.
    ///
    /// # Errors
    ///
    /// [`CourierError`] where TLS cannot be set up: the system's certificates cannot be used.
    pub fn build(self) -> Result<Courier, CourierError> {
        Ok(Courier(Arc::new(Inner {
            store: self.store,
            wakeups: self.wakeups,
            post: Post::new(self.guard, self.timeout, self.stamp)?,
            retry: self.retry,
            concurrency: self.concurrency,
            receivers: Receivers::default(),
            told_unknown: Once::new(),
        })))
    }
}

impl Courier {
    /// A courier for the tasks of this engine. The guard should be the one that the engine has.
    pub fn builder(engine: &Engine, guard: Guard) -> CourierBuilder {
        CourierBuilder {
            store: Arc::clone(engine.store()),
            wakeups: Arc::clone(engine.push_wakeups()),
            guard,
            retry: Retry::default(),
            timeout: CourierBuilder::TIMEOUT,
            concurrency: CourierBuilder::CONCURRENCY,
            stamp: None,
        }
    }

    /// Delivers until `stop` is cancelled, and then waits for what is under way: at most the timeout of an attempt and
    /// a second. Run it once for a store.
    ///
    /// Dropping the future breaks off what is under way; it is delivered again after the next start.
    pub async fn run(&self, stop: CancellationToken) {
        let mut rounds = JoinSet::new();
        let mut under_way = HashMap::new();
        while !stop.is_cancelled() {
            let look = self.start_what_is_due(&mut rounds, &mut under_way, &stop).await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.0.wakeups.notified() => {}
                () = sleep::after(look) => {}
                Some(_) = rounds.join_next() => {
                    while rounds.try_join_next().is_some() {}
                    under_way.retain(|_, it: &mut UnderWay| !it.round.is_finished());
                }
            }
        }
        while rounds.join_next().await.is_some() {}
    }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("retry", &self.0.retry).finish_non_exhaustive()
    }
}
