//! The courier: takes what the store owes to webhooks, and delivers it.

mod notice;
mod post;
mod receivers;
mod round;

use std::{
    collections::HashMap,
    sync::{Arc, Once},
    time::Duration,
};

use futures_util::future::try_join_all;
use nuncio_engine::{
    Engine, StoreError, TaskStore,
    store::{DuePush, PushSettlement},
};
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};
use post::Post;
use receivers::{Receivers, receiver};
use round::Round;
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinSet},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{guard::Guard, retry::Retry, stamp::Stamp};

/// How soon what is due is looked for again, while something due is under way already or the store failed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The part of all places that a receiver which does not answer may have.
const SILENT_PART: usize = 8;

/// How long what is due to such a receiver is put off where it has its places already, in milliseconds.
const PUT_OFF: i64 = 30_000;

/// Delivers what the store owes to webhooks.
///
/// The events of one configuration go out one after the other, in order, each until a 2xx acknowledges it; those of
/// different configurations side by side, as many as [`CourierBuilder::concurrency`] says. A receiver that does not
/// answer has an eighth of these places until it does, whatever is owed to it, so that it delays nobody else. The
/// status alone counts: what follows it is read for a second at most. A receiver that fails is tried again as [`Retry`]
/// says. When that is over, what is owed to it is given up but for its newest event, which has the outcome of a task
/// that has ended; and when that too has failed as often, this one as well. A receiver that lives but refuses one event
/// with a 4xx loses that event alone. 410 tells the courier to forget what it owes. The configuration itself stays in
/// all cases.
///
/// A receiver is told in the version under which its webhook was registered. Some versions tell of every event, others
/// only of a change of status, with the whole task.
///
/// An event can be delivered twice: when the acknowledgement is lost, and after a crash.
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
#[derive(Debug, thiserror::Error)]
#[error("notifications cannot be sent")]
pub struct CourierError(#[from] reqwest::Error);

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
                () = after(look) => {}
                Some(_) = rounds.join_next() => {
                    while rounds.try_join_next().is_some() {}
                    under_way.retain(|_, it: &mut UnderWay| !it.round.is_finished());
                }
            }
        }
        while rounds.join_next().await.is_some() {}
    }

    /// Starts rounds for what is due, as many as may be. Gives how soon to look again if nothing happens before.
    async fn start_what_is_due(
        &self,
        rounds: &mut JoinSet<()>,
        under_way: &mut HashMap<Key, UnderWay>,
        stop: &CancellationToken,
    ) -> Option<Duration> {
        loop {
            let free = self.0.concurrency.saturating_sub(under_way.len());
            if free == 0 {
                return None;
            }
            let due = match self.0.store.due_pushes(Timestamp::now(), under_way.len() + free).await {
                Ok(due) => due,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the store does not tell what pushes are due"
                    );
                    return Some(LOOK_AGAIN);
                }
            };
            let new = due.into_iter().filter(|push| !under_way.contains_key(&Key::of(push))).take(free);
            let mut put_off = Vec::new();
            for push in new.collect::<Vec<_>>() {
                let receiver: Box<str> = receiver(&push.config.url).into();
                if self.has_enough(&receiver, under_way) {
                    put_off.push(push);
                    continue;
                }
                let key = Key::of(&push);
                let (inner, stop) = (Arc::clone(&self.0), stop.clone());
                let round = rounds.spawn(async move { Round::new(&inner, push, &stop).go().await });
                under_way.insert(key, UnderWay { round, receiver });
            }
            if put_off.is_empty() {
                return self.next_look().await;
            }
            // They would hide what comes after them.
            let putting_off = put_off.into_iter().map(|push| self.put_off(push));
            if let Err(error) = try_join_all(putting_off).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the store does not take what pushes wait");
                return Some(LOOK_AGAIN);
            }
        }
    }

    /// Whether a receiver does not answer, and has its places already.
    fn has_enough(&self, receiver: &str, under_way: &HashMap<Key, UnderWay>) -> bool {
        let most = self.0.concurrency.div_ceil(SILENT_PART);
        self.0.receivers.is_silent(receiver)
            && under_way.values().filter(|it| *it.receiver == *receiver).count() >= most
    }

    async fn put_off(&self, push: DuePush) -> Result<(), StoreError> {
        let Key { scope, task, id } = Key::of(&push);
        let next_attempt = Timestamp::now().as_millisecond().saturating_add(PUT_OFF);
        let settlement = PushSettlement {
            scope,
            task,
            id,
            delivered: push.delivered,
            attempts: push.attempts,
            next_attempt: Timestamp::from_millisecond(next_attempt).unwrap_or_default(),
            error: Some("the receiver does not answer; other notifications for it are under way".to_owned()),
        };
        self.0.store.settle_push(settlement).await
    }

    /// How soon something is due.
    async fn next_look(&self) -> Option<Duration> {
        match self.0.store.next_push().await {
            Ok(next) => next.map(|next| {
                let pause = next.as_millisecond().saturating_sub(Timestamp::now().as_millisecond());
                match u64::try_from(pause) {
                    Ok(pause @ 1..) => Duration::from_millis(pause),
                    // What is due is under way, and hides what comes after it.
                    _ => LOOK_AGAIN,
                }
            }),
            Err(_) => Some(LOOK_AGAIN),
        }
    }
}

/// A round that is under way, and to whom.
struct UnderWay {
    round: AbortHandle,
    receiver: Box<str>,
}

/// Which configuration it is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    scope: Scope,
    task: TaskId,
    id: PushConfigId,
}

impl Key {
    fn of(push: &DuePush) -> Self {
        Self {
            scope: push.scope.clone(),
            task: push.config.task_id.clone().unwrap_or_default(),
            id: push.config.id.clone().unwrap_or_default(),
        }
    }
}

async fn after(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("retry", &self.0.retry).finish_non_exhaustive()
    }
}
