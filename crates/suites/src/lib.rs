//! Test suites for implementations of the engine's stores and buses.
//!
//! The tests of an implementation define a fixture and call the macro of a suite:
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
pub mod random;
pub mod store;

pub use bus::{BusFixture, Link, OutageFixture};
pub use cluster::ClusterFixture;
pub use nodes::{MemoryFaults, MemoryNode, SharedMemory};
pub use store::StoreFixture;

/// Runs a test to its end, on its own runtime with two worker threads.
pub fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("cannot start a runtime").block_on(test);
}
