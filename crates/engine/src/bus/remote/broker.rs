//! The seam to a program that carries signals: connections to it, each good until its first failure.

use async_trait::async_trait;

use crate::bus::{Listeners, Notice, Topic};

/// Any cause of a failure.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Something that carries signals between processes, as seen from one of them.
#[async_trait]
pub trait Broker: Send + Sync + 'static {
    /// A connection to it.
    type Connection: Connection;

    /// Connects. The connection is tried out afterwards. What comes in is given to the listeners, in its order, until
    /// the connection is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be reached, or refuses; the reason holds no secrets. It is tried again later, whatever the
    /// reason.
    async fn connect(&self, listeners: Listeners) -> Result<Self::Connection, BoxError>;
}

/// A connection. It is dropped after the first failure of any of its calls, and another one is made: so it need not
/// mend itself, and must not do it in silence. A call that is late is dropped, and the connection with it.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Listens to these topics, too; there may be many. Returns once everything that is published from then on comes
    /// in: after a round trip. A topic that is listened to already is no error.
    async fn listen(&self, topics: &[Topic]) -> Result<(), BoxError>;

    /// Listens to these topics no more.
    async fn leave(&self, topics: &[Topic]) -> Result<(), BoxError>;

    /// Sends what is told to topics. Returns once the broker has it.
    async fn send(&self, batch: &[(Topic, Notice)]) -> Result<(), BoxError>;

    /// Makes sure that the connection is alive, both ways: a round trip.
    async fn probe(&self) -> Result<(), BoxError>;

    /// Waits until the connection is lost, or signals on their way here are, and says why.
    async fn lost(&self) -> BoxError;
}
