//! Several nodes that share one store in memory: what a cluster's database does, without one.

mod node;
mod state;

use std::{sync::Arc, time::Duration};

pub use node::{MemoryFaults, MemoryNode};
use nuncio_engine::store::MemoryStore;
use state::State;
use tokio::sync::Mutex;

/// A store in memory that several nodes of one process share. Its clones are one store.
///
/// Time is tokio's, so a test that pauses the clock decides when a lease is over.
#[derive(Clone)]
pub struct SharedMemory {
    tasks: Arc<MemoryStore>,
    state: Arc<Mutex<State>>,
    lease: Duration,
}

impl SharedMemory {
    /// A store without nodes and tasks.
    pub fn new(lease: Duration) -> Self {
        let tasks = MemoryStore::builder().keep_log(true).build();
        Self { tasks: Arc::new(tasks), state: Arc::default(), lease }
    }

    /// A node that lives from now on.
    pub async fn node(&self) -> MemoryNode {
        let id = self.state.lock().await.join(self.lease);
        MemoryNode::new(self.clone(), id)
    }
}
