//! The store in memory against the contract of stores.

use async_trait::async_trait;
use nuncio_engine::{MemoryStore, testing::StoreFixture};

struct InMemory;

#[async_trait]
impl StoreFixture for InMemory {
    type Store = MemoryStore;
    const DURABLE: bool = false;

    fn new() -> Self {
        Self
    }

    async fn open(&self) -> MemoryStore {
        MemoryStore::new()
    }
}

nuncio_engine::store_suite!(InMemory);
