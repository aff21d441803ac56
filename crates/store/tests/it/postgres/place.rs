//! A PostgreSQL database for a test.

use std::time::Duration;

use nuncio_store::{PostgresOptions, PostgresStore};
use nuncio_testbed::{Database, Postgres, Proxy};
use tokio_postgres::{Client, NoTls};

/// A database on the shared server of the tests or on a given server.
pub(crate) struct Place {
    database: Database,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(Postgres::shared().unwrap())
    }

    pub(crate) fn on(server: &Postgres) -> Self {
        Self { database: server.database().unwrap() }
    }

    pub(crate) fn url(&self) -> &str {
        self.database.url()
    }

    /// The URL of the database through a proxy.
    pub(crate) fn url_by(&self, proxy: &Proxy) -> String {
        self.database.url_by(&proxy.address().to_string()).unwrap()
    }

    pub(crate) async fn open(&self, options: PostgresOptions) -> PostgresStore {
        PostgresStore::open(self.url(), options).await.unwrap()
    }

    /// Connects to the server directly, without the store.
    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("SET search_path = nuncio").await.unwrap();
        client
    }

    /// Lets the leases of all nodes expire.
    pub(crate) async fn end_leases(&self) {
        let sql = "DO $$ BEGIN UPDATE nodes SET expires = clock_timestamp(); \
                   EXCEPTION WHEN undefined_table THEN NULL; END $$";
        self.client().await.batch_execute(sql).await.unwrap();
    }
}

/// Slows down the deletion of records, independently of the machine: a statement of one second deletes fewer than 2,000
/// records.
pub(super) const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM pg_sleep(0.0005); RETURN OLD; END $$; \
    CREATE TRIGGER slow BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION slow()";

/// Two connections, and a lease that is longer than any test.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions::new().with_lease(Duration::from_mins(10)).with_connections(2)
}
