//! The state of a bus between processes.

use std::{collections::HashSet, error::Error, fmt, sync::Arc};

use super::BoxError;
use crate::bus::Topic;

/// The state of a bus.
#[derive(Default)]
pub(super) struct State {
    pub(super) link: Link,
    /// The topics that are subscribed at the broker.
    pub(super) topics: HashSet<Topic>,
}

/// Whether there is a connection.
#[derive(Debug, Default)]
pub(super) enum Link {
    /// The first attempt to connect is running.
    #[default]
    Starting,
    Up,
    Down(Reason),
}

/// The reason for a missing connection.
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
