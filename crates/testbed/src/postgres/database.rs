//! A database for one test.

use anyhow::{Context as _, Result};
use tokio_postgres::{Client, NoTls};
use url::Url;
use uuid::Uuid;

use crate::blocking;

/// A private database, empty at first. Dropping the value drops the database and disconnects its clients.
#[derive(Debug)]
pub struct Database {
    url: Url,
    /// The URL of the database from which this database was created, if this database must be dropped.
    server: Option<Url>,
    name: String,
}

impl Database {
    pub(super) fn create(server: &Url, is_dropped: bool) -> Result<Self> {
        let name = format!("nuncio_test_{}", Uuid::new_v4().simple());
        execute(server, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))?;
        let mut url = server.clone();
        url.set_path(&name);
        Ok(Self { url, server: is_dropped.then(|| server.clone()), name })
    }

    /// The URL, `postgres://ROLE@HOST:PORT/NAME`.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Executes statements over a separate connection.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or refuses a statement.
    pub fn execute(&self, statements: &str) -> Result<()> {
        execute(&self.url, statements)
    }

    /// The URL with another host and port, for example the address of a [`Proxy`](crate::Proxy).
    ///
    /// # Errors
    ///
    /// If the address does not have the form `HOST:PORT`.
    pub fn url_by(&self, address: &str) -> Result<String> {
        let (host, port) = address.rsplit_once(':').context("an address must have the form HOST:PORT")?;
        let mut url = self.url.clone();
        url.set_host(Some(host))?;
        url.set_port(Some(port.parse()?)).ok().context("the URL cannot have a port")?;
        Ok(url.into())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            // An error means that the server has ended, and the database with it.
            drop(execute(server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
        }
    }
}

/// Whether a server accepts statements.
pub(super) fn answers(url: &Url) -> bool {
    execute(url, "SELECT 1").is_ok()
}

pub(super) fn execute(server: &Url, statement: &str) -> Result<()> {
    blocking::run(async {
        let (client, connection) = tokio_postgres::connect(server.as_str(), NoTls)
            .await
            .with_context(|| format!("no answer from PostgreSQL at {server}"))?;
        let connected = tokio::spawn(connection);
        let done = send(&client, statement).await;
        drop(client);
        connected.await??;
        done
    })
}

async fn send(client: &Client, statement: &str) -> Result<()> {
    client.batch_execute(statement).await.with_context(|| statement.to_owned())
}
