//! A database for one test.

use anyhow::{Context as _, Result};
use tokio_postgres::{Client, NoTls};
use url::Url;
use uuid::Uuid;

use crate::blocking;

/// A database that nobody else uses, empty at first. Dropping it drops the database, with whoever is still connected.
#[derive(Debug)]
pub struct Database {
    url: Url,
    /// Of the database from which this one was made, where it must be dropped.
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

    /// Its address, `postgres://ROLE@HOST:PORT/NAME`.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Says statements to it, past whoever uses it.
    ///
    /// # Errors
    ///
    /// When it does not answer, or refuses one of them.
    pub fn execute(&self, statements: &str) -> Result<()> {
        execute(&self.url, statements)
    }

    /// Its address by way of another host and port: that of a [`Proxy`](crate::Proxy).
    ///
    /// # Errors
    ///
    /// When the address is not `HOST:PORT`.
    pub fn url_by(&self, address: &str) -> Result<String> {
        let (host, port) = address.rsplit_once(':').context("an address is HOST:PORT")?;
        let mut url = self.url.clone();
        url.set_host(Some(host))?;
        url.set_port(Some(port.parse()?)).ok().context("the URL takes no port")?;
        Ok(url.into())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            // A server that is gone has taken it along.
            drop(execute(server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
        }
    }
}

/// Whether a server takes statements.
pub(super) fn answers(url: &Url) -> bool {
    execute(url, "SELECT 1").is_ok()
}

pub(super) fn execute(server: &Url, statement: &str) -> Result<()> {
    blocking::run(async {
        let (client, connection) = tokio_postgres::connect(server.as_str(), NoTls)
            .await
            .with_context(|| format!("no PostgreSQL answers at {server}"))?;
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
