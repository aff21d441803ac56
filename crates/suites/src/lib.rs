//! Suites that hold an implementation of a seam against its contract.
//!
//! A suite is one line in the tests of the crate that implements the seam:
//!
//! ```
//! # use nuncio_engine::MemoryStore;
//! # use nuncio_suites::StoreFixture;
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl StoreFixture for InMemory {
//!     type Store = MemoryStore;
//!     const DURABLE: bool = false;
//!
//!     fn new() -> Self {
//!         Self
//!     }
//!
//!     async fn open(&self) -> MemoryStore {
//!         MemoryStore::new()
//!     }
//! }
//!
//! nuncio_suites::store_suite!(InMemory);
//! ```

pub mod bus;
pub mod cluster;
pub mod nodes;
pub mod races;
pub mod store;

pub mod random;

pub use bus::{BusFixture, Link, OutageFixture};
pub use cluster::ClusterFixture;
pub use nodes::{MemoryFaults, MemoryNode, SharedMemory};
pub use store::StoreFixture;

/// Runs a test of a suite to its end on a runtime of its own with two worker threads.
pub fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime can be started").block_on(test);
}
