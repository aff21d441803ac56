//! The servers that a URL names, of which one takes writes.
//!
//! This is how PostgreSQL fails over: a standby is promoted, and whoever was connected to the primary finds the new one
//! by trying all. A server that says nothing must not keep anybody from the next, so each attempt has a start of a
//! moment before the one behind it, and none waits for another's end. And a primary that was given up may come back
//! before somebody ends it: of two servers of one cluster the one that was promoted later has the higher timeline, and
//! who has seen that one does not go back.

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
    place::Place,
    session::NotConnected,
    tls::Tls,
};

/// The start that an attempt has before the next server is tried as well.
const START: Duration = Duration::from_millis(250);

/// A server's history: its cluster, and how often one of that was promoted. Fails where the server is a standby.
const ORIGIN: &str =
    "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()";

pub(super) type Connection = tokio_postgres::Connection<Socket, <Tls as MakeTlsConnect<Socket>>::Stream>;

/// Where a database may be.
pub(super) struct Servers {
    /// With its name for people.
    each: Box<[(String, Config)]>,
    tls: Tls,
    /// How long an attempt may take, all servers together.
    timeout: Duration,
    /// Which has the start: the last that was of any use.
    first: AtomicUsize,
    newest: Mutex<Option<Origin>>,
}

/// Which history a server writes.
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

/// A connection that nobody moves yet.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) connection: Connection,
    /// Unknown where there is one server alone, or it does not say.
    pub(super) origin: Option<Origin>,
}

impl Servers {
    pub(super) fn new(place: &Place, tls: Tls, timeout: Duration) -> Self {
        Self { each: place.each(), tls, timeout, first: AtomicUsize::new(0), newest: Mutex::default() }
    }

    /// A connection to the first server that takes writes, in the order of the URL from the last that did.
    pub(super) async fn connect(&self) -> Result<Connected, NotConnected> {
        timeout(self.timeout, self.any()).await?
    }

    async fn any(&self) -> Result<Connected, NotConnected> {
        let (first, count) = (self.first.load(Ordering::Relaxed), self.each.len());
        // Who knows none yet asks all, since more than one may take writes.
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
                        // One that is not there in time is not waited for.
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

    /// Whether one that was promoted later was seen since.
    pub(super) fn have_superseded(&self, origin: Option<Origin>) -> bool {
        origin.is_some() && is_superseded(origin, *self.newest.lock())
    }

    /// The one that has the start was of no use: it lets others connect and acknowledges nothing.
    pub(super) fn try_another_first(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_superseded(origin: Option<Origin>, newest: Option<Origin>) -> bool {
    origin.zip(newest).is_some_and(|(origin, newest)| origin.is_older_than(newest))
}

/// Nothing where the server does not tell this user.
async fn origin(client: &Client) -> Result<Option<Origin>, NotConnected> {
    let rows = match client.simple_query(ORIGIN).await {
        Ok(rows) => rows,
        Err(error) if is_refusal(&error) => {
            tracing::debug!(error = explain(&error), "the server does not tell its timeline");
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
