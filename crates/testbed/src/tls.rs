//! Certificates for servers and clients of tests, good for a hundred years. Their keys are known to everybody.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// Who has signed the others, in PEM.
pub const AUTHORITY: &str = include_str!("tls/authority.pem");

/// An authority that has signed nothing.
pub const OTHER_AUTHORITY: &str = include_str!("tls/other.pem");

/// A server by the name `localhost`, and by no address.
pub const SERVER: Identity =
    Identity { certificate: include_str!("tls/server.pem"), key: include_str!("tls/server.key") };

/// A server by the same name that has signed its certificate itself, as `openssl req -x509` makes them.
pub const SERVER_ALONE: Identity =
    Identity { certificate: include_str!("tls/alone.pem"), key: include_str!("tls/alone.key") };

/// A client.
pub const CLIENT: Identity =
    Identity { certificate: include_str!("tls/client.pem"), key: include_str!("tls/client.key") };

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// The certificate.
    pub certificate: &'static str,
    /// The key, which is no secret.
    pub key: &'static str,
}

/// Files of an [`Identity`].
#[derive(Debug, Clone)]
pub struct IdentityFiles {
    /// The certificate's.
    pub certificate: PathBuf,
    /// The key's, which its owner alone can read: servers want that.
    pub key: PathBuf,
}

impl Identity {
    /// Writes both into new files of this folder.
    ///
    /// # Errors
    ///
    /// When they cannot be written, or are there.
    pub fn write(&self, folder: &Path) -> Result<IdentityFiles> {
        let files = IdentityFiles { certificate: folder.join("server.crt"), key: folder.join("server.key") };
        fs::write(&files.certificate, self.certificate).context("a certificate cannot be written")?;
        let mut key = File::options().write(true).create_new(true).mode(0o600).open(&files.key)?;
        key.write_all(self.key.as_bytes())?;
        Ok(files)
    }
}
