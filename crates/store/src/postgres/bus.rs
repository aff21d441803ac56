//! Signals between nodes with `LISTEN` and `NOTIFY`, for installations that use PostgreSQL anyway.

mod channels;
mod connection;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use nuncio_engine::bus::{BoxError, Broker, Listeners};

use self::{channels::Channels, connection::PostgresConnection};
use super::{error::PostgresError, options::PostgresOptions, place::DatabaseUrl, servers::Servers, tls::Tls};

/// The broker for signals between nodes over PostgreSQL. A [`RemoteBus`](nuncio_engine::bus::RemoteBus) with this
/// broker is the bus.
///
/// Each node has two connections, a listening connection and a sending connection. Signals are sent in groups, because
/// each transaction with a `NOTIFY` waits at its end for all other such transactions. Signals are not stored, so the
/// broker does not wait for the disk. A connection pooler between node and server must use session mode. The broker
/// detects a pooler with another mode.
pub struct PostgresBroker {
    servers: Servers,
    channels: Arc<Channels>,
    /// For messages to the operator, without the password.
    place: String,
}

impl PostgresBroker {
    /// A broker for the database and schema of a URL, as in [`PostgresStore::open`](super::PostgresStore::open). Does
    /// not connect yet.
    ///
    /// # Errors
    ///
    /// [`PostgresError::Url`] if the URL is not valid.
    pub fn new(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let mut place = DatabaseUrl::parse(url, options)?;
        if place.config.get_application_name() == Some("nuncio") {
            place.config.application_name("nuncio bus");
        }
        Ok(Self {
            servers: Servers::new(&place, Tls::new(&place.trust)?, options.connect_timeout),
            channels: Arc::new(Channels::of(&place.schema)),
            place: place.to_string(),
        })
    }

    /// The database and schema as text: `user@host/database, schema nuncio`. Without the password.
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
