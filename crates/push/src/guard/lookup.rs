//! Names and their addresses, checked where they are used.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Guard;

/// Resolves names.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// Where the name has no addresses, or nobody can tell. A webhook passes when it is registered; an attempt to
    /// deliver fails, which is tried again as any other, and so it is with a panic there.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system does.
pub(crate) struct System;

#[async_trait]
impl Lookup for System {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Gives a client the addresses that pass the guard, and no others.
pub(crate) struct Checked(pub(crate) Guard);

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
