//! The test suite of clusters for the store of several nodes in one process.

use std::time::Duration;

use async_trait::async_trait;
use nuncio_engine::TaskStore as _;
use nuncio_suites::{ClusterFixture, MemoryNode, SharedMemory};

struct InMemory(SharedMemory);

#[async_trait]
impl ClusterFixture for InMemory {
    type Node = MemoryNode;

    fn new(lease: Duration) -> Self {
        Self(SharedMemory::new(lease))
    }

    async fn open(&self) -> MemoryNode {
        self.0.node().await
    }

    async fn expire(&self, node: &MemoryNode) {
        node.close().await.unwrap();
    }
}

nuncio_suites::cluster_suite!(InMemory);
