//! The receivers of credentials: origins (RFC 6454).

use std::fmt;

use url::{Host, Url};

/// A scheme, a host and a port: addresses with the same origin share credentials.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    is_secure: bool,
    host: Host,
    port: u16,
}

/// The error for a text that is not an address with an origin.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address such as https://agent.example or agent.example:443")]
pub struct OriginError(String);

nuncio_model::debug_is_text!(OriginError);

impl Origin {
    /// The origin of an address: `http(s)://…`, `grpc(s)://…`, or `host:port`, which means TLS.
    ///
    /// `grpc` counts as `http`, because one port serves both.
    pub fn parse(address: &str) -> Result<Self, OriginError> {
        let error = || OriginError(address.to_owned());
        let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" | "grpcs" => "https",
            "http" | "grpc" => "http",
            _ => return Err(error()),
        };
        let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|_| error())?;
        let host = url.host().ok_or_else(error)?.to_owned();
        let port = url.port_or_known_default().ok_or_else(error)?;
        Ok(Self { is_secure: scheme == "https", host, port })
    }

    /// Whether the origin uses TLS.
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl std::str::FromStr for Origin {
    type Err = OriginError;

    fn from_str(address: &str) -> Result<Self, OriginError> {
        Self::parse(address)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", if self.is_secure { "https" } else { "http" }, self.host, self.port)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
