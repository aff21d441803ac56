//! Names and their addresses, checked where they are used.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::AddressGuard;

/// Resolves names.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// If the name has no addresses, or the resolver does not answer. Then a webhook can be registered, but an attempt
    /// to deliver fails and is repeated like any other. A panic has the same effect.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves as the system does.
pub(super) struct System;

#[async_trait]
impl Lookup for System {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Gives a client the addresses that pass the guard, and no others.
pub(crate) struct Checked(pub(crate) AddressGuard);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let addresses = guard.resolve(name.as_str()).await??;
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
