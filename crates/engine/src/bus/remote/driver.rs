//! Drives the connections of a bus, one after the other.

use std::{sync::Arc, time::Duration};

use nuncio_limit::{Backoff, Failures, Jitter};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use super::{BoxError, Broker, Connection, Link, PATIENCE, Shared};
use crate::bus::Topic;

/// How often a connection that is not used is tried out.
const PROBE: Duration = Duration::from_secs(1);

/// The delays between attempts to connect. Nodes that lost the bus together return at different times.
const RECONNECT: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2), jitter: Jitter::FULL };

/// A connection that lasted this long ends a row of failures.
const LASTING: Duration = Duration::from_secs(10);

/// Signals that are sent at once.
const GROUP: usize = 512;

pub(super) struct Driver<B> {
    broker: B,
    shared: Arc<Shared>,
}

impl<B: Broker> Driver<B> {
    pub(super) fn new(broker: B, shared: Arc<Shared>) -> Self {
        Self { broker, shared }
    }

    /// Runs until the bus is closed and everything is sent.
    pub(super) async fn run(self) {
        let mut failures = Failures::default();
        loop {
            let began = Instant::now();
            let connected = tokio::select! {
                connected = self.connect() => connected,
                () = self.is_done() => return,
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
                () = self.is_done() => return,
            }
        }
    }

    async fn connect(&self) -> Result<B::Connection, BoxError> {
        timeout(PATIENCE, self.broker.connect(self.shared.listeners.clone())).await?
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
            tracing::info!("the bus is back");
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
                // Before what may always be ready.
                _ = probe.tick() => within(connection, connection.probe()).await?,
                () = shared.topics_changed.notified() => {}
                () = shared.outgoing.filled.notified() => {}
                () = std::future::ready(()), if has_sent => {}
                () = shared.closing.cancelled() => {}
            }
        }
    }

    /// Listens to what is listened to here, and to nothing else.
    async fn follow_topics(&self, connection: &B::Connection) -> Result<(), BoxError> {
        let shared = &*self.shared;
        let wanted = shared.listeners.topics();
        let mut idle: Vec<Topic> = Vec::new();
        shared.state.send_if_modified(|state| {
            idle.extend(state.topics.extract_if(|topic| !wanted.contains(topic)));
            false
        });
        // Whoever subscribes from here on waits to be listened to again. Who did so just before has seen the topic
        // among those that are, so it is not left: this second look finds it.
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

    /// Sends some of what waits. Whether there was anything.
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

    /// Says that there is no connection, once for each outage.
    fn note(&self, error: BoxError) {
        let cause = &*error as &dyn std::error::Error;
        if self.is_down() {
            tracing::debug!(error = cause, "the bus cannot be reached");
        } else {
            tracing::warn!(
                error = cause,
                "the bus is lost; until it is back, nodes learn late of one another's changes"
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

    /// Waits until the bus is closed and nothing is left to be sent.
    async fn is_done(&self) {
        self.shared.closing.cancelled().await;
        if !self.shared.outgoing.is_empty() {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for an answer, as long as the connection lives and for a while at most.
async fn within<C: Connection>(
    connection: &C,
    answer: impl Future<Output = Result<(), BoxError>>,
) -> Result<(), BoxError> {
    tokio::select! {
        answer = timeout(PATIENCE, answer) => answer?,
        error = connection.lost() => Err(error),
    }
}
