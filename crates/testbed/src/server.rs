//! The common interface of test servers: their address, and their faults.

use anyhow::Result;

/// A server. Faults are possible only for a private server; for another server each of these methods is an error.
pub trait Server: Send + Sync {
    /// The URL of the server.
    fn url(&self) -> &str;

    /// The host and port of the server, for a [`Proxy`](crate::Proxy).
    fn address(&self) -> String;

    /// Stops the server and its connections regularly, and starts the server again on the same port. A killed server is
    /// only started.
    ///
    /// # Errors
    ///
    /// If the server is not private, or does not start.
    fn restart(&self) -> Result<()>;

    /// Kills the server with its children immediately. After a restart, PostgreSQL has all data whose commit was
    /// acknowledged; NATS has lost all data.
    ///
    /// # Errors
    ///
    /// If the server is not private.
    fn kill(&self) -> Result<()>;

    /// Pauses the server and its children: the connections stay open, and the server no longer answers.
    ///
    /// # Errors
    ///
    /// If the server is not private, or is not running.
    fn pause(&self) -> Result<()>;

    /// Continues the server after a pause.
    ///
    /// # Errors
    ///
    /// If the server is not private, or is not running.
    fn resume(&self) -> Result<()>;
}
