//! Nodes on a NATS server.

use nuncio_engine::bus::RemoteBus;
use nuncio_nats::NatsBroker;
use nuncio_testbed::bus;

/// A prefix that no other test has, so that all can share a server.
pub(crate) fn prefix() -> String {
    format!("test-{}", uuid::Uuid::new_v4().simple())
}

/// A node that has come as far as it will: connected, or told why not.
pub(crate) async fn node(url: &str) -> RemoteBus {
    bus::join(NatsBroker::new(url.parse().unwrap())).await
}
