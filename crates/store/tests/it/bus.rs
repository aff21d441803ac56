//! PostgreSQL as the bus: against the contract of buses, and what happens to real servers.

mod contract;
mod faults;

use nuncio_engine::bus::RemoteBus;
use nuncio_store::{PostgresBroker, PostgresOptions};

/// A node that has come as far as it will: connected, or told why not.
async fn node(url: &str) -> RemoteBus {
    nuncio_testbed::bus::join(PostgresBroker::new(url, &PostgresOptions::new()).unwrap()).await
}
