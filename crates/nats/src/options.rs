//! The address of NATS, and the login.

use std::{fmt, path::PathBuf};

use async_nats::ServerAddr;
use secrecy::SecretString;

/// The address of NATS, and the login. Parsed from a URL:
///
/// `nats://[USER:PASSWORD@ | TOKEN@]HOST[:PORT][,HOST[:PORT] …][/PREFIX][?credentials=FILE&ca=FILE&cert=FILE&key=FILE]`
///
/// - `tls://`, `ca` and `cert` require TLS. With `nats://` alone, the server decides.
/// - `PREFIX` is the first part of all subjects, by default `nuncio`. Several clusters of nodes can share a NATS server
///   if each cluster has its own prefix. The user needs permissions to publish and subscribe to `PREFIX.>` only.
/// - `credentials` is a `.creds` file, read at each connection. `ca` is a file of trusted certificates, which replace
///   the certificates of the system. `cert` and `key` are the client's certificate and key. These files are in PEM
///   format, and their paths are percent-encoded.
/// - The client connects to a random host. If the connection fails, the client tries the other hosts.
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

/// The login.
#[derive(Clone)]
pub(crate) enum Login {
    Anonymous,
    Token(SecretString),
    User(String, SecretString),
}

impl NatsOptions {
    /// The first part of every subject.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Checks that the files of `ca`, `cert` and `key` can be read. The file of `credentials` is not checked, because
    /// the client reads the file at each connection.
    ///
    /// # Errors
    ///
    /// Names the first file that cannot be read, with the reason.
    pub fn check_files(&self) -> Result<(), String> {
        let identity = self.identity.as_ref().map(|(cert, key)| [("cert", cert), ("key", key)]);
        let files = self.ca.as_ref().map(|ca| ("ca", ca)).into_iter().chain(identity.into_iter().flatten());
        for (name, path) in files {
            std::fs::File::open(path).map_err(|error| format!("{name} {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

/// The URL, without the login.
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
