//! Failures that are the same for every database.

use nuncio_engine::StoreError;

/// A body that cannot be read.
pub(crate) fn corrupt(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Corrupt(error.into())
}

/// The store, or what it runs on, is gone.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}
