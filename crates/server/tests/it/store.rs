//! A store that does not answer.

use std::sync::Arc;

use nuncio_engine::TaskStore;
use nuncio_store::{SqliteOptions, SqliteStore};

/// A store that cannot be reached.
pub(crate) async fn away() -> Arc<dyn TaskStore> {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("away.db"), SqliteOptions::new()).await.unwrap();
    store.close().await.unwrap();
    Arc::new(store)
}
