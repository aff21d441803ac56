//! Builds the HTTP clients of Nuncio.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use reqwest::{Certificate, Client, ClientBuilder, redirect::Policy};

use crate::{
    classify::innermost,
    guard::{AddressGuard, Checked},
};

/// The certificate authorities of the system that a client trusts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Roots {
    /// None, for clients without TLS. The system's certificates are not read, which takes a while.
    Omitted,
    /// The system's. Building the client fails if they cannot be used.
    #[default]
    Required,
    /// The system's, or none if they cannot be used. Then only [`ClientSettings::authorities`] count.
    Optional,
}

/// What a client is built of.
///
/// The client follows no redirects: a caller that follows a redirect must decide again which credentials to send.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientSettings {
    /// The value of `User-Agent`. By default the name and version of Nuncio.
    pub user_agent: String,
    /// The longest time for a connection, including TLS. 10 s.
    pub connect_timeout: Duration,
    /// The longest time without a byte of an answer. No limit by default.
    pub read_timeout: Option<Duration>,
    /// The idle connections to keep for each host. No limit by default.
    pub idle_per_host: usize,
    /// Whether to use HTTP/2 from the first byte, also without TLS.
    pub http2_only: bool,
    /// Whether to use the proxies that the environment names (`HTTPS_PROXY` and others). True by default, and ignored
    /// with a [`guard`](Self::guard): a proxy resolves names itself, so the guard could not check the address.
    pub uses_proxies: bool,
    /// The system's certificate authorities.
    pub roots: Roots,
    /// More certificate authorities to trust, in PEM.
    pub authorities: Vec<Vec<u8>>,
    /// Whether to accept any certificate.
    pub insecure: bool,
    /// Checks the addresses of each name before the client connects.
    pub guard: Option<AddressGuard>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            user_agent: concat!("nuncio/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: None,
            idle_per_host: usize::MAX,
            http2_only: false,
            uses_proxies: true,
            roots: Roots::default(),
            authorities: Vec::new(),
            insecure: false,
            guard: None,
        }
    }
}

/// Why a client cannot be built.
#[derive(thiserror::Error)]
#[error("{what}: {}", innermost(&**.source))]
pub struct SetupError {
    what: &'static str,
    source: Box<dyn StdError + Send + Sync>,
}

nuncio_model::debug_is_text!(SetupError);

impl ClientSettings {
    /// Builds a client with a connection pool of its own.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if one of the authorities is not a certificate, or if the system's certificates cannot be used and
    /// are [required](Roots::Required).
    pub fn build(&self) -> Result<Client, SetupError> {
        let setup = |what| move |error: reqwest::Error| SetupError { what, source: error.into() };
        let mut authorities = Vec::new();
        for pem in &self.authorities {
            authorities.extend(Certificate::from_pem_bundle(pem).map_err(setup("the certificate cannot be read"))?);
        }
        if self.roots != Roots::Omitted {
            let built = self.base().tls_certs_merge(authorities.clone()).build();
            if built.is_ok() || self.roots == Roots::Required {
                return built.map_err(setup("HTTP cannot be set up"));
            }
        }
        self.base().tls_certs_only(authorities).build().map_err(setup("HTTP cannot be set up"))
    }

    fn base(&self) -> ClientBuilder {
        let mut builder = Client::builder()
            .user_agent(self.user_agent.clone())
            .redirect(Policy::none())
            .connect_timeout(self.connect_timeout)
            .pool_max_idle_per_host(self.idle_per_host)
            .tcp_nodelay(true)
            // A peer that disappeared without closing the connection is noticed within a minute.
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_keepalive_interval(Duration::from_secs(10))
            .tcp_keepalive_retries(3)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .tls_danger_accept_invalid_certs(self.insecure);
        if let Some(timeout) = self.read_timeout {
            builder = builder.read_timeout(timeout);
        }
        if self.http2_only {
            builder = builder.http2_prior_knowledge();
        }
        if let Some(guard) = &self.guard {
            builder = builder.dns_resolver(Arc::new(Checked(guard.clone())));
        }
        if self.guard.is_some() || !self.uses_proxies {
            builder = builder.no_proxy();
        }
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_that_is_no_certificate_is_an_error() {
        let pem = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
        for roots in [Roots::Omitted, Roots::Required, Roots::Optional] {
            let settings = ClientSettings { authorities: vec![pem.clone()], roots, ..Default::default() };
            assert!(settings.build().is_err(), "{roots:?}");
        }
        ClientSettings { roots: Roots::Omitted, ..Default::default() }.build().unwrap();
    }
}
