//! The interface of a broker: connections, each valid until its first failure.

use async_trait::async_trait;

use crate::bus::{Listeners, Notice, Topic};

/// The cause of a failure.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A broker of signals between processes, as seen from one process.
#[async_trait]
pub trait Broker: Send + Sync + 'static {
    /// A connection to the broker.
    type Connection: Connection;

    /// Connects. The bus probes the connection afterwards. The connection passes received notices in order to `listeners`,
    /// until the connection is dropped.
    ///
    /// # Errors
    ///
    /// If the broker cannot be reached or refuses the connection. The reason contains no secrets. The bus retries after any
    /// error.
    async fn connect(&self, listeners: Listeners) -> Result<Self::Connection, BoxError>;
}

/// A connection. After the first failed or late call the bus drops the connection and creates another. A connection
/// therefore need not reconnect, and must not reconnect silently.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Subscribes to these topics in addition; there can be many. Returns after a round trip, when all signals published from
    /// then on will be received. A topic that is subscribed already is no error.
    async fn listen(&self, topics: &[Topic]) -> Result<(), BoxError>;

    /// Unsubscribes from these topics.
    async fn leave(&self, topics: &[Topic]) -> Result<(), BoxError>;

    /// Sends notices. Returns after the broker has accepted them.
    async fn send(&self, batch: &[(Topic, Notice)]) -> Result<(), BoxError>;

    /// Checks the connection in both directions by a round trip.
    async fn probe(&self) -> Result<(), BoxError>;

    /// Waits until the connection or received signals are lost, and returns the reason.
    async fn lost(&self) -> BoxError;
}
