//! The contract of stores.

use async_trait::async_trait;
use nuncio_store::{SqliteOptions, SqliteStore};
use nuncio_suites::StoreFixture;
use tempfile::TempDir;

struct InFile(TempDir);

#[async_trait]
impl StoreFixture for InFile {
    type Store = SqliteStore;
    const DURABLE: bool = true;

    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.0.path().join("tasks.db"), SqliteOptions::default()).await.unwrap()
    }
}

mod with_a_cache {
    use super::InFile;
    nuncio_suites::store_suite!(InFile);
    nuncio_suites::race_suite!(InFile);
}

/// The same without a cache, without retention of logs, and with an `fsync` per commit group.
struct Bare(InFile);

#[async_trait]
impl StoreFixture for Bare {
    type Store = SqliteStore;
    const DURABLE: bool = true;
    const KEEPS_LOGS: bool = false;

    fn new() -> Self {
        Self(InFile::new())
    }

    async fn open(&self) -> SqliteStore {
        let options = SqliteOptions::new()
            .with_cache(0)
            .with_readers(1)
            .with_log_retention(std::time::Duration::ZERO)
            .with_synchronous(nuncio_store::Synchronous::Full);
        SqliteStore::open(self.0.0.path().join("tasks.db"), options).await.unwrap()
    }
}

mod bare {
    use super::Bare;
    nuncio_suites::store_suite!(Bare);
}
