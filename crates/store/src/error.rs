//! Errors that all databases have in common.

use nuncio_engine::StoreError;

/// The error for a body that cannot be read.
pub(crate) fn corrupt(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Corrupt(error.into())
}

/// The error for a store, or its runtime, that has been closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}
