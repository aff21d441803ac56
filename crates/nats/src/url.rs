//! The URL of NATS. It may name several hosts, which no standard parser takes.

use std::{path::PathBuf, str::FromStr};

use async_nats::ServerAddr;
use percent_encoding::percent_decode_str;

use crate::options::{Login, NatsOptions};

/// Where nothing is said.
const PREFIX: &str = "nuncio";

/// Why a URL cannot be. It repeats nothing of the part that has the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NatsUrlError {
    /// It does not begin as it should.
    #[error("it does not begin with nats:// or tls://")]
    Scheme,
    /// A host is missing, or is none.
    #[error("`{0}` is not a host, or HOST:PORT")]
    Host(String),
    /// Not for the names of subjects.
    #[error("the prefix `{0}` is not made of letters, digits, `-` and `_`, with single dots between")]
    Prefix(String),
    /// What stands behind `?`.
    #[error("`{0}` is none of credentials=FILE, ca=FILE, cert=FILE and key=FILE")]
    Parameter(String),
    /// One without the other.
    #[error("cert and key belong together")]
    Identity,
    /// Not UTF-8.
    #[error("its user, password or parameters are not UTF-8 once they are decoded")]
    Encoding,
}

impl FromStr for NatsOptions {
    type Err = NatsUrlError;

    fn from_str(url: &str) -> Result<Self, NatsUrlError> {
        let (scheme, rest) = url.split_once("://").ok_or(NatsUrlError::Scheme)?;
        if !matches!(scheme, "nats" | "tls") {
            return Err(NatsUrlError::Scheme);
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // A password may hold a slash that nobody encoded, so what is before the last @ goes first.
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let mut options = Self {
            servers: hosts.split(',').map(|host| server(scheme, host)).collect::<Result<_, _>>()?,
            prefix: self::prefix(prefix)?,
            login: login.map_or(Ok(Login::Nobody), self::login)?,
            credentials: None,
            ca: None,
            identity: None,
        };
        options.read(query)?;
        Ok(options)
    }
}

impl NatsOptions {
    fn read(&mut self, query: &str) -> Result<(), NatsUrlError> {
        let (mut cert, mut key) = (None, None);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let path = || PathBuf::from(decoded(value)?).into_option().ok_or(NatsUrlError::Parameter(name.to_owned()));
            match name {
                "credentials" => self.credentials = Some(path()?),
                "ca" => self.ca = Some(path()?),
                "cert" => cert = Some(path()?),
                "key" => key = Some(path()?),
                _ => return Err(NatsUrlError::Parameter(name.to_owned())),
            }
        }
        self.identity = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(NatsUrlError::Identity),
        };
        Ok(())
    }
}

fn server(scheme: &str, host: &str) -> Result<ServerAddr, NatsUrlError> {
    let wrong = || NatsUrlError::Host(host.to_owned());
    let server: ServerAddr = format!("{scheme}://{host}").parse().map_err(|_| wrong())?;
    if server.host().is_empty() || server.into_inner_path_is_not_empty() { Err(wrong()) } else { Ok(server) }
}
