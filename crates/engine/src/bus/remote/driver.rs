//! Runs the connections of a bus, one after the other.

use std::{sync::Arc, time::Duration};

use nuncio_limit::{Backoff, Failures, Jitter};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use super::{BoxError, Broker, CALL_TIMEOUT, Connection, Link, RemoteShared};
use crate::bus::Topic;

/// The period of probes on an idle connection.
const PROBE: Duration = Duration::from_secs(1);

/// The delays between attempts to connect. Nodes that lost the bus together return at different times.
const RECONNECT: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2), jitter: Jitter::FULL };

/// A connection that lasted this long resets the delays.
const LASTING: Duration = Duration::from_secs(10);

/// The maximum of signals in one group.
const GROUP: usize = 512;

pub(super) struct Driver<B> {
    broker: B,
    shared: Arc<RemoteShared>,
}

impl<B: Broker> Driver<B> {
    pub(super) fn new(broker: B, shared: Arc<RemoteShared>) -> Self {
        Self { broker, shared }
    }

    /// Runs until the bus is closed and all signals are sent.
    pub(super) async fn run(self) {
        let mut failures = Failures::default();
        loop {
            let began = Instant::now();
            let connected = tokio::select! {
                connected = self.connect() => connected,
                () = self.until_done() => return,
            };
            let error = match connected {
                Ok(connection) => match self.serve(&connection).await {
                    Ok(()) => return,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.note(error);
            if began.elapsed() > LASTING {
                failures.reset();
            }
            tokio::select! {
                () = sleep(failures.next_delay(&RECONNECT)) => {}
                () = self.until_done() => return,
            }
        }
    }

    async fn connect(&self) -> Result<B::Connection, BoxError> {
        timeout(CALL_TIMEOUT, self.broker.connect(self.shared.listeners.clone())).await?
    }

    /// Uses a connection until it fails, or the bus is closed.
    async fn serve(&self, connection: &B::Connection) -> Result<(), BoxError> {
        let shared = &*self.shared;
        within(connection, connection.probe()).await?;
        let topics = shared.listeners.topics();
        if !topics.is_empty() {
            let topics: Vec<_> = topics.iter().copied().collect();
            within(connection, connection.listen(&topics)).await?;
        }
        if self.is_down() {
            shared.listeners.lose();
            tracing::info!("bus: connected again");
        }
        shared.state.send_modify(|state| {
            state.link = Link::Up;
            state.topics = topics;
        });
        let mut probe = interval_at(Instant::now() + PROBE, PROBE);
        probe.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.follow_topics(connection).await?;
            let has_sent = self.send(connection).await?;
            if shared.closing.is_cancelled() {
                if has_sent {
                    continue;
                }
                return Ok(());
            }
            tokio::select! {
                biased;
                error = connection.lost() => return Err(error),
                // Before branches that can always be ready.
                _ = probe.tick() => within(connection, connection.probe()).await?,
                () = shared.topics_changed.notified() => {}
                () = shared.outgoing.filled.notified() => {}
                () = std::future::ready(()), if has_sent => {}
                () = shared.closing.cancelled() => {}
            }
        }
    }

    /// Updates the topics at the broker to the topics with subscriptions on this node.
    async fn follow_topics(&self, connection: &B::Connection) -> Result<(), BoxError> {
        let shared = &*self.shared;
        let wanted = shared.listeners.topics();
        let mut idle: Vec<Topic> = Vec::new();
        shared.state.send_if_modified(|state| {
            idle.extend(state.topics.extract_if(|topic| !wanted.contains(topic)));
            false
        });
        // From here on, a new subscriber waits for a new subscription at the broker. A subscriber from just before has
        // seen the topic as subscribed, so the second read of the topics keeps that topic.
        let wanted = shared.listeners.topics();
        let (kept, left): (Vec<_>, Vec<_>) = idle.into_iter().partition(|topic| wanted.contains(topic));
        if !left.is_empty() {
            within(connection, connection.leave(&left)).await?;
        }
        let missing: Vec<_> = {
            let state = shared.state.borrow();
            wanted.into_iter().filter(|topic| !state.topics.contains(topic) && !kept.contains(topic)).collect()
        };
        if !missing.is_empty() {
            within(connection, connection.listen(&missing)).await?;
        }
        if !missing.is_empty() || !kept.is_empty() {
            shared.state.send_modify(|state| state.topics.extend(missing.into_iter().chain(kept)));
        }
        Ok(())
    }

    /// Sends one group of waiting signals. Returns whether there were signals.
    async fn send(&self, connection: &B::Connection) -> Result<bool, BoxError> {
        let batch = self.shared.outgoing.take(GROUP);
        if batch.is_empty() {
            return Ok(false);
        }
        let sent = within(connection, connection.send(&batch)).await;
        if sent.is_err() {
            self.shared.outgoing.restore(batch);
        }
        sent.map(|()| true)
    }

    /// Logs a lost connection, once per outage.
    fn note(&self, error: BoxError) {
        let cause = &*error as &dyn std::error::Error;
        if self.is_down() {
            tracing::debug!(error = cause, "bus: cannot connect; retrying");
        } else {
            tracing::warn!(
                error = cause,
                "bus: the connection is lost; changes of other nodes arrive late until it is restored"
            );
        }
        self.shared.state.send_modify(|state| {
            state.link = Link::Down(error.into());
            state.topics.clear();
        });
    }

    fn is_down(&self) -> bool {
        matches!(self.shared.state.borrow().link, Link::Down(_))
    }

    /// Waits until the bus is closed and all signals are sent.
    async fn until_done(&self) {
        self.shared.closing.cancelled().await;
        if !self.shared.outgoing.is_empty() {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for an answer until the timeout, or until the connection is lost.
async fn within<C: Connection>(
    connection: &C,
    answer: impl Future<Output = Result<(), BoxError>>,
) -> Result<(), BoxError> {
    tokio::select! {
        answer = timeout(CALL_TIMEOUT, answer) => answer?,
        error = connection.lost() => Err(error),
    }
}
