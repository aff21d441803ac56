//! A connection, set up and with its statements.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_limit::{Backoff, Jitter};
use tokio::{
    task::AbortHandle,
    time::{error::Elapsed, timeout},
};
use tokio_postgres::{Client, Error, Row, types::ToSql};

use super::{
    error::{PostgresError, explain},
    options::PostgresOptions,
    place::Place,
    servers::{Connected, Origin, Servers},
    statements::{Sql, Statements},
    tls::Tls,
};

/// Makes connections.
pub(super) struct Connector {
    pub(super) place: Place,
    pub(super) servers: Arc<Servers>,
    pub(super) options: PostgresOptions,
}

impl Connector {
    pub(super) fn new(place: Place, options: PostgresOptions) -> Result<Self, PostgresError> {
        let servers = Arc::new(Servers::new(&place, Tls::new(&place.trust)?, options.connect_timeout));
        Ok(Self { place, servers, options })
    }

    /// A connection without statements, for what comes before the tables are there.
    pub(super) async fn connect_bare(&self) -> Result<(Client, Driver), NotConnected> {
        let Connected { client, connection, origin } = self.servers.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = explain(&error), "a connection to the database ended");
            }
        });
        Ok((client, Driver { moving: driver.abort_handle(), origin }))
    }

    pub(super) async fn connect(&self) -> Result<Session, NotConnected> {
        let (client, driver) = self.connect_bare().await?;
        let statements = timeout(self.options.connect_timeout, Statements::prepare(&client)).await??;
        let (servers, answer_timeout) = (Arc::clone(&self.servers), self.options.answer_timeout);
        Ok(Session { client, statements, driver, servers, answer_timeout, given_up: AtomicBool::new(false) })
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotConnected {
    #[error("{}", explain(.0))]
    Refused(#[from] Error),
    #[error("no answer in time")]
    Late(#[from] Elapsed),
    #[error("the connection was closed")]
    Closed,
    /// Another server was promoted later.
    #[error("another server has taken its place")]
    Superseded,
    /// Each of several servers for a reason of its own.
    #[error("{0}")]
    Nowhere(String),
}

impl From<Failure> for NotConnected {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Told(error) => Self::Refused(error),
            Failure::Late(late) => Self::Late(late),
        }
    }
}

/// What moves a connection's bytes. Dropping it cuts the connection, whatever is under way.
pub(super) struct Driver {
    moving: AbortHandle,
    origin: Option<Origin>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.moving.abort();
    }
}

/// A connection. Statements of several callers go over it one behind the other, without waiting for answers between.
pub(super) struct Session {
    client: Client,
    statements: Statements,
    driver: Driver,
    servers: Arc<Servers>,
    answer_timeout: Duration,
    given_up: AtomicBool,
}

/// What became of a statement that has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The server said no.
    #[error("{}", explain(.0))]
    Told(#[from] Error),
    /// There was no answer in time.
    #[error("the database did not answer in time")]
    Late(#[from] Elapsed),
}

impl Failure {
    /// Whether the server has said that it did nothing, and the connection is as good as before.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Told(error) if super::error::is_refusal(error))
    }
}

impl Session {
    pub(super) fn is_closed(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
            || self.client.is_closed()
            || self.servers.have_superseded(self.driver.origin)
    }

    /// Counts as closed from now on. What is under way may still be answered.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Says a statement and waits for the rows, but not for longer than an answer may take.
    pub(super) async fn query(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        self.query_within(self.answer_timeout, sql, values).await
    }

    /// The same where an answer is of use only within this time.
    pub(super) async fn query_within(
        &self,
        bound: Duration,
        sql: Sql,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let rows = self.client.query(self.statements.get(sql), values);
        Ok(timeout(bound, rows).await??)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// The delays between attempts to connect. Nodes that lost the database together return at different times.
pub(super) const RECONNECT: Backoff =
    Backoff { first: Duration::from_millis(25), longest: Duration::from_secs(1), jitter: Jitter::Between(0.5, 1.0) };
