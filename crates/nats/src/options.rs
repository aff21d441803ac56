//! Where NATS is, and as whom to connect.

use std::{fmt, path::PathBuf};

use async_nats::ServerAddr;
use secrecy::SecretString;

/// Where NATS is, and as whom to connect. Read from a URL:
///
/// `nats://[USER:PASSWORD@ | TOKEN@]HOST[:PORT][,HOST[:PORT] …][/PREFIX][?credentials=FILE&ca=FILE&cert=FILE&key=FILE]`
///
/// - `tls://` in the place of `nats://` insists on TLS, and so do `ca` and `cert`. It is used in any case where the
///   server wants it.
/// - `PREFIX` is what all subjects begin with, by default `nuncio`: several clusters of nodes can share a NATS, each
///   under a prefix of its own. A user of NATS needs to publish and subscribe to `PREFIX.>` and to nothing else.
/// - `credentials` is a `.creds` file, read at each connection; `ca` has the certificates to trust in the place of the
///   system's; `cert` and `key` are for servers that ask for a client's certificate. All are paths of PEM files, and
///   percent-encoded as in any URL.
/// - Of several hosts one is taken by chance, and another when it fails.
///
/// Neither `Debug` nor `Display` shows secrets.
#[derive(Clone)]
pub struct NatsOptions {
    pub(crate) servers: Vec<ServerAddr>,
    pub(crate) prefix: String,
    pub(crate) login: Login,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

/// Who connects.
#[derive(Clone)]
pub(crate) enum Login {
    Nobody,
    Token(SecretString),
    User(String, SecretString),
}

impl NatsOptions {
    /// What all subjects begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Looks whether the files for TLS can be read: `ca`, `cert` and `key`. Those of `credentials` may come and go.
    ///
    /// # Errors
    ///
    /// Of the first that cannot be read, with its name.
    pub fn check_files(&self) -> Result<(), String> {
        let identity = self.identity.as_ref().map(|(cert, key)| [("cert", cert), ("key", key)]);
        let files = self.ca.as_ref().map(|ca| ("ca", ca)).into_iter().chain(identity.into_iter().flatten());
        for (name, path) in files {
            std::fs::File::open(path).map_err(|error| format!("{name} {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

/// The URL, without whoever connects.
impl fmt::Display for NatsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.servers.iter().enumerate() {
            match index {
                0 => write!(f, "{}://", server.scheme())?,
                _ => f.write_str(",")?,
            }
            let host = server.host();
            let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
            write!(f, "{open}{host}{close}:{}", server.port())?;
        }
        write!(f, "/{}", self.prefix)
    }
}

impl fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NatsOptions").field(&self.to_string()).finish()
    }
}
