//! The number of connections of each address, so that one peer cannot take all connections.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use crate::address::peer_key;

/// The open connections by address.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection of an address. The connection counts until the share is dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Arc<Shares>,
    address: IpAddr,
}

impl Shares {
    pub(super) fn new(most: usize) -> Self {
        Self { most, counts: Mutex::default() }
    }

    /// Counts a connection; `None` if the address has reached its limit.
    pub(super) fn take(self: &Arc<Self>, peer: SocketAddr) -> Option<Share> {
        let address = peer_key(peer.ip());
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Share { shares: Arc::clone(self), address })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.shares.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}
