//! How a bus between processes stands.

use std::{collections::HashSet, error::Error, fmt, sync::Arc};

use super::BoxError;
use crate::bus::Topic;

/// How it stands.
#[derive(Default)]
pub(super) struct State {
    pub(super) link: Link,
    /// What is listened to at the broker.
    pub(super) topics: HashSet<Topic>,
}

/// Whether there is a connection.
#[derive(Debug, Default)]
pub(super) enum Link {
    /// Nobody knows yet.
    #[default]
    Starting,
    Up,
    Down(Reason),
}

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(super) struct Reason(Arc<BoxError>);

impl From<BoxError> for Reason {
    fn from(error: BoxError) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
