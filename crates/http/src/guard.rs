//! Which addresses may be called: a guard against requests that a stranger makes this process send (server-side request
//! forgery, SSRF).

mod address;
mod lookup;

use std::{fmt, net::IpAddr, sync::Arc};

pub(crate) use lookup::Checked;
pub use lookup::Lookup;
use lookup::System;
use url::{Host, Url};

/// Refuses URLs and addresses that are not on the public Internet.
///
/// A URL must be `http` or `https`. Its host must not be a private, loopback, link-local, shared, multicast, reserved or
/// embedded address, nor a name that stands for such an address. A client with the guard
/// ([`ClientSettings::guard`](crate::ClientSettings::guard)) resolves names through the guard, so that the address that
/// was checked is the address that is called.
///
/// ```
/// let guard = nuncio_http::AddressGuard::new();
/// assert!(guard.check_url("https://example.com/hook").is_ok());
/// assert!(guard.check_url("http://169.254.169.254/latest").is_err());
/// assert!(guard.check_url("http://2130706433/").is_err());
/// ```
#[derive(Clone)]
pub struct AddressGuard {
    allows_private: bool,
    lookup: Arc<dyn Lookup>,
    hint: &'static str,
}

/// Why a URL may not be called.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The text is not a URL.
    #[error("is not a URL: {0}")]
    NotAUrl(String),
    /// The scheme is neither `http` nor `https`.
    #[error("must begin with https:// or http://, not with {0}:")]
    Scheme(String),
    /// The URL contains a user or a password.
    #[error("must not hold a user or a password: credentials belong in authentication")]
    UserInfo,
    /// The host is, or stands for, an address that may not be called.
    #[error("the host {host} is not a public address{hint}")]
    Private {
        /// The host.
        host: String,
        /// The hint of the guard.
        hint: &'static str,
    },
}

nuncio_model::debug_is_text!(Refusal);

impl Default for AddressGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl AddressGuard {
    /// A guard that lets public addresses pass.
    pub fn new() -> Self {
        Self { allows_private: false, lookup: Arc::new(System), hint: "" }
    }

    /// Whether all addresses pass.
    pub fn allow_private(mut self, yes: bool) -> Self {
        self.allows_private = yes;
        self
    }

    /// How names are resolved. By default as the system does.
    pub fn with_lookup(mut self, lookup: impl Lookup) -> Self {
        self.lookup = Arc::new(lookup);
        self
    }

    /// The end of the message of [`Refusal::Private`]: how an operator can allow such addresses.
    pub fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    /// Whether all addresses pass.
    pub fn allows_private(&self) -> bool {
        self.allows_private
    }

    /// Checks a URL, except for the addresses of its host if the host is a name.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotAUrl`], also if the URL contains spaces or control characters; [`Refusal::Scheme`] if the scheme is
    /// neither `http` nor `https`; [`Refusal::UserInfo`] if the URL contains a user or a password; [`Refusal::Private`]
    /// if the host is an address that is not public or a name that stands for such an address, unless
    /// [all addresses pass](Self::allow_private).
    pub fn check_url(&self, url: &str) -> Result<Url, Refusal> {
        // The parser would drop line breaks and tabs without a word.
        if url.chars().any(|char| char.is_control() || char == ' ') {
            return Err(Refusal::NotAUrl("it has spaces or line breaks in it".to_owned()));
        }
        let url = Url::parse(url).map_err(|error| Refusal::NotAUrl(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::UserInfo);
        }
        let is_private = match url.host() {
            Some(Host::Ipv4(address)) => !self.passes(address.into()),
            Some(Host::Ipv6(address)) => !self.passes(address.into()),
            Some(Host::Domain(name)) => !self.allows_private && address::is_local_name(name),
            None => true,
        };
        if is_private { Err(self.private(url.host_str().unwrap_or_default())) } else { Ok(url) }
    }

    /// The addresses of a name, if all of them pass.
    ///
    /// # Errors
    ///
    /// The error of the [`Lookup`]. `Ok(Err(_))` if one of the addresses does not pass.
    pub async fn resolve(&self, name: &str) -> std::io::Result<Result<Vec<IpAddr>, Refusal>> {
        let addresses = self.lookup.lookup(name).await?;
        let all_pass = addresses.iter().all(|address| self.passes(*address));
        Ok(if all_pass { Ok(addresses) } else { Err(self.private(name)) })
    }

    fn passes(&self, address: IpAddr) -> bool {
        self.allows_private || address::is_public(address)
    }

    fn private(&self, host: &str) -> Refusal {
        Refusal::Private { host: host.to_owned(), hint: self.hint }
    }
}

impl fmt::Debug for AddressGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressGuard").field("allows_private", &self.allows_private).finish_non_exhaustive()
    }
}
