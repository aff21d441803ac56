//! Nodes on a NATS server.

use nuncio_engine::bus::RemoteBus;
use nuncio_nats::NatsBroker;
use nuncio_testbed::bus;

/// A unique prefix, so that all tests can share a server.
pub(crate) fn prefix() -> String {
    format!("test-{}", uuid::Uuid::new_v4().simple())
}

/// A node after its first connection attempt has succeeded or failed.
pub(crate) async fn node(url: &str) -> RemoteBus {
    bus::join(NatsBroker::new(url.parse().unwrap())).await
}
