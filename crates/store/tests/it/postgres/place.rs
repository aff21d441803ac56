//! A schema for a test.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use nuncio_store::{PostgresOptions, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// A schema of its own in the server of the tests.
pub(super) struct Place {
    url: String,
    schema: String,
}

impl Place {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let url = std::env::var("NUNCIO_TEST_POSTGRES").unwrap();
        Self { url, schema: format!("test_{}_{number}", process::id()) }
    }

    /// A lease that no test outlasts.
    pub(super) fn options(&self) -> PostgresOptions {
        PostgresOptions::new().with_schema(&*self.schema).with_lease(Duration::from_mins(10)).with_connections(2)
    }

    pub(super) async fn open(&self, options: PostgresOptions) -> PostgresStore {
        PostgresStore::open(&self.url, options).await.unwrap()
    }

    /// The server, past the store.
    pub(super) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path = {}", self.schema)).await.unwrap();
        client
    }

    /// As though the leases of all nodes that there were had been over for a moment.
    pub(super) async fn end_leases(&self) {
        let sql = "DO $$ BEGIN UPDATE nodes SET expires = clock_timestamp(); \
                   EXCEPTION WHEN undefined_table THEN NULL; END $$";
        self.client().await.batch_execute(sql).await.unwrap();
    }
}
