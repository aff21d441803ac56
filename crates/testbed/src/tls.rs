//! Certificates for servers and clients of tests, valid for a hundred years. The keys are public.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// The authority that signed the other certificates, in PEM.
pub const AUTHORITY: &str = include_str!("tls/authority.pem");

/// An authority that signed no certificate.
pub const OTHER_AUTHORITY: &str = include_str!("tls/other.pem");

/// A server with the name `localhost`, without an address.
pub const SERVER: Identity =
    Identity { certificate: include_str!("tls/server.pem"), key: include_str!("tls/server.key") };

/// A server with the same name and a self-signed certificate, like those of `openssl req -x509`.
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
    /// The key, which is public.
    pub key: &'static str,
}

/// The files of an [`Identity`].
#[derive(Debug, Clone)]
pub struct IdentityFiles {
    /// The file of the certificate.
    pub certificate: PathBuf,
    /// The file of the key, readable only by its owner, as servers require.
    pub key: PathBuf,
}

impl Identity {
    /// Writes both into new files in this folder.
    ///
    /// # Errors
    ///
    /// If the files cannot be written, or already exist.
    pub fn write(&self, folder: &Path) -> Result<IdentityFiles> {
        let files = IdentityFiles { certificate: folder.join("server.crt"), key: folder.join("server.key") };
        fs::write(&files.certificate, self.certificate).context("cannot write a certificate")?;
        let mut key = File::options().write(true).create_new(true).mode(0o600).open(&files.key)?;
        key.write_all(self.key.as_bytes())?;
        Ok(files)
    }
}
