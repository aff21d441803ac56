//! Checks the addresses and headers of webhooks (section 13.2).

mod headers;

use std::time::Duration;

use async_trait::async_trait;
use nuncio_engine::PushGuard;
use nuncio_http::{AddressGuard, Lookup, Refusal};
use nuncio_model::{Error, TaskPushNotificationConfig};
use url::{Host, Url};

const HINT: &str = ", and this agent calls no others without --allow-private-webhooks of `nuncio serve`";

/// Guards against webhooks inside the network of the server ([`AddressGuard`]), and against header injection.
///
/// A name is resolved when the webhook is registered, and again for each connection, so that the address that was
/// checked is the address that is called. At registration, a name that cannot be resolved passes.
///
/// ```
/// let guard = nuncio_push::Guard::new();
/// assert!(guard.check_url("https://example.com/hook").is_ok());
/// assert!(guard.check_url("http://169.254.169.254/latest").is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    addresses: AddressGuard,
    resolve_timeout: Duration,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl Guard {
    /// A guard that lets public addresses pass.
    pub fn new() -> Self {
        Self { addresses: AddressGuard::new().with_hint(HINT), resolve_timeout: Duration::from_secs(2) }
    }

    /// If `yes`, all addresses pass: for tests, and for networks with trusted callers and webhooks.
    pub fn allow_private(mut self, yes: bool) -> Self {
        self.addresses = self.addresses.allow_private(yes);
        self
    }

    /// Sets the resolver of host names. The default is the resolver of the system.
    pub fn with_lookup(mut self, lookup: impl Lookup) -> Self {
        self.addresses = self.addresses.with_lookup(lookup);
        self
    }

    /// The longest time to resolve a name when a webhook is registered; after that the webhook passes. 2 s by default.
    pub fn with_resolve_timeout(mut self, timeout: Duration) -> Self {
        self.resolve_timeout = timeout;
        self
    }

    /// Checks a URL, except for the addresses of its host if the host is a name.
    ///
    /// # Errors
    ///
    /// As [`AddressGuard::check_url`].
    pub fn check_url(&self, url: &str) -> Result<Url, Refusal> {
        self.addresses.check_url(url)
    }

    pub(crate) fn addresses(&self) -> &AddressGuard {
        &self.addresses
    }
}

#[async_trait]
impl PushGuard for Guard {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        let refuse = |refusal: Refusal| Error::invalid_params("url", refusal.to_string());
        let url = self.check_url(&config.url).map_err(refuse)?;
        headers::check(config)?;
        if let Some(Host::Domain(name)) = url.host()
            && !self.addresses.allows_private()
            && let Ok(Ok(Err(refusal))) = tokio::time::timeout(self.resolve_timeout, self.addresses.resolve(name)).await
        {
            return Err(refuse(refusal));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
