//! Which webhooks may be called: none that reaches into the network that the server stands in (NOTIFY-13, NOTIFY-16).

mod address;
mod headers;
mod lookup;

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
pub use lookup::Lookup;
pub(crate) use lookup::{Checked, System};
use nuncio_engine::PushGuard;
use nuncio_model::{Error, TaskPushNotificationConfig};
use url::{Host, Url};

/// Guards against requests that a stranger makes this server send (SSRF), and against headers that they slip in.
///
/// A webhook is `http` or `https`. Its host may be no private, loopback, link-local, shared, multicast, reserved or
/// embedded address, nor a name that stands for one. A name is resolved when the webhook is registered, where one that
/// cannot be resolved passes, and again for each connection, so the address that was checked is the one that is called.
///
/// ```
/// let guard = nuncio_push::Guard::new();
/// assert!(guard.check_url("https://example.com/hook").is_ok());
/// assert!(guard.check_url("http://169.254.169.254/latest").is_err());
/// assert!(guard.check_url("http://2130706433/").is_err());
/// ```
#[derive(Clone)]
pub struct Guard {
    allows_private: bool,
    lookup: Arc<dyn Lookup>,
    patience: Duration,
}

/// Why a webhook may not be called.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no URL.
    #[error("is not a URL: {0}")]
    NotAUrl(String),
    /// The scheme is neither `http` nor `https`.
    #[error("must begin with https:// or http://, not with {0}:")]
    Scheme(String),
    /// There is a user or a password in it.
    #[error("must not hold a user or a password: credentials belong in authentication")]
    UserInfo,
    /// The host is, or stands for, an address that may not be called.
    #[error(
        "the host {0} is not a public address, and this agent calls no others without --allow-private-webhooks of `nuncio serve`"
    )]
    Private(String),
}

nuncio_model::debug_is_text!(Refusal);

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl Guard {
    /// A guard that lets public addresses pass.
    pub fn new() -> Self {
        Self { allows_private: false, lookup: Arc::new(System), patience: Duration::from_secs(2) }
    }

    /// Whether any address passes; for tests, and where webhooks are inside the same network and callers are trusted.
    pub fn allow_private(mut self, yes: bool) -> Self {
        self.allows_private = yes;
        self
    }

    /// How names are resolved. The system's way by default.
    pub fn with_lookup(mut self, lookup: impl Lookup) -> Self {
        self.lookup = Arc::new(lookup);
        self
    }

    /// How long a name may take to be resolved when a webhook is registered; it passes then. 2 s by default.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Checks all about a URL that can be known without resolving its host.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotAUrl`], also where spaces or control characters are in it; [`Refusal::Scheme`] where it is neither
    /// `http` nor `https`; [`Refusal::UserInfo`] where it holds a user or a password; [`Refusal::Private`] where its
    /// host is an address that is not public or a name that stands for one, unless [any passes](Self::allow_private).
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
        if is_private { Err(Refusal::Private(url.host_str().unwrap_or_default().to_owned())) } else { Ok(url) }
    }

    pub(crate) fn passes(&self, address: IpAddr) -> bool {
        self.allows_private || address::is_public(address)
    }

    /// The addresses that a name has, if all of them pass.
    pub(crate) async fn resolve(&self, name: &str) -> std::io::Result<Result<Vec<IpAddr>, Refusal>> {
        let addresses = self.lookup.lookup(name).await?;
        let all_pass = addresses.iter().all(|address| self.passes(*address));
        Ok(if all_pass { Ok(addresses) } else { Err(Refusal::Private(name.to_owned())) })
    }
}

#[async_trait]
impl PushGuard for Guard {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        let refuse = |refusal: Refusal| Error::invalid_params("url", refusal.to_string());
        let url = self.check_url(&config.url).map_err(refuse)?;
        headers::check(config)?;
        if let Some(Host::Domain(name)) = url.host()
            && !self.allows_private
            && let Ok(Ok(Err(refusal))) = tokio::time::timeout(self.patience, self.resolve(name)).await
        {
            return Err(refuse(refusal));
        }
        Ok(())
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("allows_private", &self.allows_private).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
