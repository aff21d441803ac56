//! A transport in a version whose calls may be made of others.

use async_trait::async_trait;
use nuncio_model::{Caller, Calling, Error, Reply, Request};
use nuncio_wire::{Dialect, dialect::Course};

use super::Transport;

/// Takes any call to a peer that knows those of one version.
pub(crate) struct Versioned {
    dialect: &'static dyn Dialect,
    peer: Peer,
}

/// The peer, which is asked in the calls of its version.
struct Peer(Box<dyn Transport>);

impl Versioned {
    pub(crate) fn new(dialect: &'static dyn Dialect, transport: Box<dyn Transport>) -> Self {
        Self { dialect, peer: Peer(transport) }
    }
}

#[async_trait]
impl Transport for Versioned {
    async fn call(&self, request: Request) -> Result<Reply, Error> {
        match self.dialect.ask(request, &self.peer) {
            Course::Direct(request) => self.peer.0.call(request).await,
            Course::Steps(steps) => steps.await,
        }
    }
}

impl Caller for Peer {
    fn call(&self, request: Request) -> Calling<'_> {
        self.0.call(request)
    }
}
