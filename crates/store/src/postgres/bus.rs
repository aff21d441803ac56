//! Signals between nodes by `LISTEN` and `NOTIFY`, for those who have PostgreSQL anyway.

mod channels;
mod connection;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use nuncio_engine::bus::{BoxError, Broker, Listeners};

use self::{channels::Channels, connection::PostgresConnection};
use super::{error::PostgresError, options::PostgresOptions, place::Place, servers::Servers, tls::Tls};

/// PostgreSQL as the way that signals between nodes take; a [`RemoteBus`](nuncio_engine::bus::RemoteBus) over it is the
/// bus.
///
/// Each node has two connections, one that listens and one that tells, and tells in groups, since a transaction with a
/// `NOTIFY` waits for all others at its end. Signals need no disk, so none is waited for. A pooler between has to work
/// by session; one that does not is noticed.
pub struct PostgresBroker {
    servers: Servers,
    channels: Arc<Channels>,
    /// For people, without the password.
    place: String,
}

impl PostgresBroker {
    /// Of the database and schema of a URL, as in [`PostgresStore::open`](super::PostgresStore::open). Connects to
    /// nobody yet.
    ///
    /// # Errors
    ///
    /// When the URL is not valid.
    pub fn new(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let mut place = Place::parse(url, options)?;
        if place.config.get_application_name() == Some("nuncio") {
            place.config.application_name("nuncio bus");
        }
        Ok(Self {
            servers: Servers::new(&place, Tls::new(&place.trust)?, options.connect_timeout),
            channels: Arc::new(Channels::of(&place.schema)),
            place: place.to_string(),
        })
    }

    /// The database and schema, for people: `user@host/database, schema nuncio`. Without the password.
    pub fn place(&self) -> &str {
        &self.place
    }
}

#[async_trait]
impl Broker for PostgresBroker {
    type Connection = PostgresConnection;

    async fn connect(&self, listeners: Listeners) -> Result<PostgresConnection, BoxError> {
        PostgresConnection::open(&self.servers, &self.channels, listeners).await
    }
}

impl fmt::Debug for PostgresBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresBroker").field(&self.place).finish()
    }
}
