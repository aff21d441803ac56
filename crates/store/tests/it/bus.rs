//! The bus over PostgreSQL: the contract of buses, and faults of real servers.

mod contract;
mod faults;

use nuncio_engine::bus::RemoteBus;
use nuncio_store::{PostgresBroker, PostgresOptions};

/// Joins a node and waits until the node is connected or has an error.
async fn node(url: &str) -> RemoteBus {
    nuncio_testbed::bus::join(PostgresBroker::new(url, &PostgresOptions::new()).unwrap()).await
}
