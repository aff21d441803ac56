//! The servers that a URL names. One of them accepts writes.
//!
//! This module implements PostgreSQL's failover for clients: a standby is promoted, and clients of the old primary find
//! the new primary by trying all servers. An unresponsive server must not delay the next attempt. Therefore each
//! attempt starts a moment after the previous attempt and does not wait for its end.
//!
//! An old primary can reappear before an administrator stops it. Of two servers of one cluster, the server that was
//! promoted later has the higher timeline. After a connection to that server, lower timelines are refused.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, Config, SimpleQueryMessage, Socket, tls::MakeTlsConnect};

use super::{
    error::{explain, is_refusal},
    place::DatabaseUrl,
    session::NotConnected,
    tls::Tls,
};

/// The delay before the next server is tried as well.
const START: Duration = Duration::from_millis(250);

/// The history of a server: the id of its cluster, and its timeline, which increases with each promotion. Fails on a
/// standby.
const ORIGIN: &str =
    "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()";

pub(super) type Connection = tokio_postgres::Connection<Socket, <Tls as MakeTlsConnect<Socket>>::Stream>;

/// The servers of a database.
pub(super) struct Servers {
    /// The servers, each with a name for messages.
    each: Box<[(String, Config)]>,
    tls: Tls,
    /// The time limit for one attempt, all servers together.
    timeout: Duration,
    /// The index of the server that is tried first: the last usable server.
    first: AtomicUsize,
    newest: Mutex<Option<Origin>>,
}

/// The history that a server continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    cluster: u64,
    timeline: u32,
}

impl Origin {
    fn is_older_than(self, other: Self) -> bool {
        self.cluster == other.cluster && self.timeline < other.timeline
    }
}

/// A new connection. The caller must drive `connection`.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) connection: Connection,
    /// `None` if the URL names a single server, or if the server does not report its history.
    pub(super) origin: Option<Origin>,
}

impl Servers {
    pub(super) fn new(place: &DatabaseUrl, tls: Tls, timeout: Duration) -> Self {
        Self { each: place.each(), tls, timeout, first: AtomicUsize::new(0), newest: Mutex::default() }
    }

    /// Connects to the first server that accepts writes. The servers are tried in the order of the URL, starting with
    /// the last usable server.
    pub(super) async fn connect(&self) -> Result<Connected, NotConnected> {
        timeout(self.timeout, self.any()).await?
    }

    async fn any(&self) -> Result<Connected, NotConnected> {
        let (first, count) = (self.first.load(Ordering::Relaxed), self.each.len());
        // At the first time, all servers are tried at once, because more than one may accept writes.
        let is_first_time = self.newest.lock().is_none();
        let attempt = async |turn: usize| {
            if !is_first_time {
                sleep(START * u32::try_from(turn).unwrap_or(u32::MAX)).await;
            }
            let number = (first + turn) % count;
            (number, self.attempt(&self.each[number].1).await)
        };
        let mut attempts: FuturesUnordered<_> = (0..count).map(attempt).collect();
        let mut failures = Vec::new();
        while let Some((number, outcome)) = attempts.next().await {
            match outcome {
                Ok(mut connected) => {
                    self.first.store(number, Ordering::Relaxed);
                    if is_first_time && count > 1 {
                        let newer = async {
                            while let Some((number, outcome)) = attempts.next().await {
                                if let Ok(other) = outcome
                                    && self.have_superseded(connected.origin)
                                {
                                    self.first.store(number, Ordering::Relaxed);
                                    connected = other;
                                }
                            }
                        };
                        // A server that does not answer in time is ignored.
                        let _ = timeout(START, newer).await;
                    }
                    return Ok(connected);
                }
                Err(failure) if count == 1 => return Err(failure),
                Err(failure) => failures.push(format!("{}: {failure}", self.each[number].0)),
            }
        }
        Err(NotConnected::Nowhere(failures.join("; ")))
    }

    async fn attempt(&self, config: &Config) -> Result<Connected, NotConnected> {
        let (client, mut connection) = config.connect(self.tls.clone()).await?;
        if self.each.len() == 1 {
            return Ok(Connected { client, connection, origin: None });
        }
        let origin = tokio::select! {
            origin = origin(&client) => origin?,
            ended = &mut connection => {
                return Err(ended.err().map_or(NotConnected::Closed, NotConnected::Refused));
            }
        };
        let mut newest = self.newest.lock();
        if is_superseded(origin, *newest) {
            return Err(NotConnected::Superseded);
        }
        *newest = origin.or(*newest);
        drop(newest);
        Ok(Connected { client, connection, origin })
    }

    /// Whether this process has seen a server that was promoted later.
    pub(super) fn have_superseded(&self, origin: Option<Origin>) -> bool {
        origin.is_some() && is_superseded(origin, *self.newest.lock())
    }

    /// Tries another server first at the next attempt. For a server that accepts connections but does not acknowledge
    /// writes.
    pub(super) fn try_another_first(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_superseded(origin: Option<Origin>, newest: Option<Origin>) -> bool {
    origin.zip(newest).is_some_and(|(origin, newest)| origin.is_older_than(newest))
}

/// The history of a server; `None` if the user has no permission to read it.
async fn origin(client: &Client) -> Result<Option<Origin>, NotConnected> {
    let rows = match client.simple_query(ORIGIN).await {
        Ok(rows) => rows,
        Err(error) if is_refusal(&error) => {
            tracing::debug!(
                error = explain(&error),
                "store: cannot read the timeline of the server; an old primary is not detected"
            );
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    Ok(rows.iter().find_map(|row| {
        let SimpleQueryMessage::Row(row) = row else { return None };
        let timeline = u32::from_str_radix(row.get(1)?, 16).ok()?;
        Some(Origin { cluster: row.get(0)?.parse().ok()?, timeline })
    }))
}
