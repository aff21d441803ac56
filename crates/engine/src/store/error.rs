//! The errors of a store.

use nuncio_limit::not_now;
use nuncio_model::{Error, ErrorKind, TaskId};

/// The reason why a store call failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer has written the task, or owns the task.
    #[error("the task was changed by another writer")]
    Conflict,
    /// The message id is already remembered, with this task.
    #[error("task {0} has the message already")]
    Duplicate(TaskId),
    /// The store has dropped the requested records.
    #[error("the records are no longer kept")]
    Compacted,
    /// The page token is invalid.
    #[error("the page token is not valid")]
    BadPageToken,
    /// The store is full. Try again when there is space.
    #[error("the store is full")]
    Full(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record or the task is larger than the store can hold. Trying again does not help.
    #[error("the task is larger than the store can hold")]
    TooLarge(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store did not answer, or answered with an error. Trying again may help.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The stored data cannot be read.
    #[error("a stored record cannot be read")]
    Corrupt(#[source] Box<dyn std::error::Error + Send + Sync>),
}

nuncio_model::debug_is_text!(StoreError);

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full(_) | Self::Unavailable(_))
    }
}

/// The metadata of the error for a duplicate message, also if another node reports the error.
pub(crate) const DEDUP: &str = "dedup";

/// The same metadata in commands that earlier releases have stored.
pub(crate) const EARLIER_DEDUP: &str = "repeated";

/// The error for the client.
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::BadPageToken => Self::invalid_params(
                "pageToken",
                "is not a token of an earlier page of this list: a token is good with the filters that it was given for",
            ),
            StoreError::Full(_) | StoreError::Unavailable(_) => {
                not_now("the task store is unavailable; try again later").with_source(error)
            }
            StoreError::Duplicate(task) => Self::new(
                ErrorKind::UnsupportedOperation,
                format!("task {task} has the message already; read it with GetTask"),
            )
            .with_metadata("taskId", task.as_str())
            .with_metadata(DEDUP, "true"),
            StoreError::TooLarge(_) => {
                Self::new(ErrorKind::PayloadTooLarge, "the task is larger than the task store can hold")
                    .with_source(error)
            }
            error => Self::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_limit::RETRY_AFTER;

    #[test]
    fn transient_errors_are_retried() {
        for error in [StoreError::Full("no room".into()), StoreError::Unavailable("gone".into())] {
            let told = Error::from(error);
            assert_eq!((told.kind(), told.retry_after()), (ErrorKind::Unavailable, Some(RETRY_AFTER)));
        }
        assert_eq!(Error::from(StoreError::Conflict).retry_after(), None);
        let too_large = StoreError::TooLarge("2 GiB".into());
        assert!(!too_large.is_transient());
        assert_eq!(Error::from(too_large).kind(), ErrorKind::PayloadTooLarge);
    }
}
