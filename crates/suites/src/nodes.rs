//! A store in memory that several nodes share, with leases and commands.

mod node;
mod state;

use std::{sync::Arc, time::Duration};

pub use node::{MemoryFaults, MemoryNode};
use nuncio_engine::store::MemoryStore;
use state::State;
use tokio::sync::Mutex;

/// A store in memory for several nodes of one process. Clones share the same store.
///
/// Leases use the clock of tokio, so a test can pause and advance time.
#[derive(Clone)]
pub struct SharedMemory {
    tasks: Arc<MemoryStore>,
    state: Arc<Mutex<State>>,
    lease: Duration,
}

impl SharedMemory {
    /// An empty store without nodes.
    pub fn new(lease: Duration) -> Self {
        let tasks = MemoryStore::builder().keep_log(true).build();
        Self { tasks: Arc::new(tasks), state: Arc::default(), lease }
    }

    /// Opens the store as a new node. The node's lease starts now.
    pub async fn node(&self) -> MemoryNode {
        let id = self.state.lock().await.join(self.lease);
        MemoryNode::new(self.clone(), id)
    }
}
