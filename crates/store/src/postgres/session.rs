//! A connection with its prepared statements.

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
    place::DatabaseUrl,
    servers::{Connected, Origin, Servers},
    statements::{Sql, Statements},
    tls::Tls,
};

/// Opens connections.
pub(super) struct Connector {
    pub(super) place: DatabaseUrl,
    pub(super) servers: Arc<Servers>,
    pub(super) options: PostgresOptions,
}

impl Connector {
    pub(super) fn new(place: DatabaseUrl, options: PostgresOptions) -> Result<Self, PostgresError> {
        let servers = Arc::new(Servers::new(&place, Tls::new(&place.trust)?, options.connect_timeout));
        Ok(Self { place, servers, options })
    }

    /// Opens a connection without prepared statements, for work before the tables exist.
    pub(super) async fn connect_bare(&self) -> Result<(Client, Driver), NotConnected> {
        let Connected { client, connection, origin } = self.servers.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = explain(&error), "store: a connection to the database ended");
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

/// The reason why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotConnected {
    #[error("{}", explain(.0))]
    Refused(#[from] Error),
    #[error("the server did not answer in time")]
    Late(#[from] Elapsed),
    #[error("the connection was closed")]
    Closed,
    /// Another server was promoted later.
    #[error("another server was promoted in its place")]
    Superseded,
    /// Several servers failed, each for its own reason.
    #[error("{0}")]
    Nowhere(String),
}

impl From<Failure> for NotConnected {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Failed(error) => Self::Refused(error),
            Failure::Late(late) => Self::Late(late),
        }
    }
}

/// The task that transfers the bytes of a connection. Dropping the driver closes the connection, also during a
/// statement.
pub(super) struct Driver {
    moving: AbortHandle,
    origin: Option<Origin>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.moving.abort();
    }
}

/// A connection. Statements of several callers are sent one after the other, without waiting for the answers.
pub(super) struct Session {
    client: Client,
    statements: Statements,
    driver: Driver,
    servers: Arc<Servers>,
    answer_timeout: Duration,
    given_up: AtomicBool,
}

/// The reason why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The server or the connection reported an error.
    #[error("{}", explain(.0))]
    Failed(#[from] Error),
    /// The answer did not arrive in time.
    #[error("the database did not answer in time")]
    Late(#[from] Elapsed),
}

impl Failure {
    /// Whether the server has confirmed that it did nothing. The connection is then still usable.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Failed(error) if super::error::is_refusal(error))
    }
}

impl Session {
    pub(super) fn is_closed(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
            || self.client.is_closed()
            || self.servers.have_superseded(self.driver.origin)
    }

    /// Marks the session as closed. Statements in progress may still be answered.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Executes a statement and waits for the rows, at most for the answer timeout.
    pub(super) async fn query(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        self.query_within(self.answer_timeout, sql, values).await
    }

    /// Like [`query`](Self::query), with another time limit.
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

/// The delays between attempts to connect. The random part distributes the attempts of nodes that lost the database at
/// the same time.
pub(super) const RECONNECT: Backoff =
    Backoff { first: Duration::from_millis(25), longest: Duration::from_secs(1), jitter: Jitter::Between(0.5, 1.0) };
