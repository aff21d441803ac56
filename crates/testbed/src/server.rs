//! What both servers are to a test: somewhere to connect to, and something to hurt.

use anyhow::Result;

/// A server. Only one of our own can be hurt: of another each of these is an error.
pub trait Server: Send + Sync {
    /// Its address as a URL.
    fn url(&self) -> &str;

    /// Its host and port, for a [`Proxy`](crate::Proxy).
    fn address(&self) -> String;

    /// Ends it in good order, connections included, and starts it again on the same port. One that was killed is
    /// started.
    ///
    /// # Errors
    ///
    /// When it is not of our own, or does not start.
    fn restart(&self) -> Result<()>;

    /// Kills it at once, with all that work for it. What PostgreSQL told clients to be committed is there after a
    /// restart; everything that NATS holds for clients is lost.
    ///
    /// # Errors
    ///
    /// When it is not of our own.
    fn kill(&self) -> Result<()>;

    /// Stops it where it stands, with all that work for it: its connections stay, and nothing is answered.
    ///
    /// # Errors
    ///
    /// When it is not of our own, or does not run.
    fn pause(&self) -> Result<()>;

    /// Lets it go on.
    ///
    /// # Errors
    ///
    /// When it is not of our own, or does not run.
    fn resume(&self) -> Result<()>;
}
