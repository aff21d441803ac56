//! A bus within one process, for engines that share a store.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::RwLock;

use super::{BusError, EventBus, Listeners, Notice, Subscription, Topic, Wake};

/// Carries signals between the engines of one process. A clone is another node on the same bus; closing the clone ends the
/// subscriptions of the clone.
pub struct LocalBus {
    nodes: Arc<RwLock<Vec<Weak<LocalNode>>>>,
    node: Arc<LocalNode>,
}

/// The subscriptions of one handle, which end with the handle.
#[derive(Default)]
struct LocalNode(Listeners);

impl Drop for LocalNode {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl LocalBus {
    /// Creates a bus without subscriptions.
    pub fn new() -> Self {
        Self::join(Arc::default())
    }

    fn join(nodes: Arc<RwLock<Vec<Weak<LocalNode>>>>) -> Self {
        let node = Arc::default();
        let mut others = nodes.write();
        others.retain(|other| other.strong_count() > 0);
        others.push(Arc::downgrade(&node));
        drop(others);
        Self { nodes, node }
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for LocalBus {
    fn clone(&self) -> Self {
        Self::join(self.nodes.clone())
    }
}

impl std::fmt::Debug for LocalBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalBus").finish_non_exhaustive()
    }
}

#[async_trait]
impl EventBus for LocalBus {
    fn publish(&self, topic: Topic, wake: Wake) {
        if self.node.0.is_closed() {
            return;
        }
        let notice = Notice::Wake(wake);
        for node in self.nodes.read().iter().filter_map(Weak::upgrade) {
            node.0.deliver(topic, &notice);
        }
    }

    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError> {
        Ok(Box::new(self.node.0.subscribe(topic)?))
    }

    async fn check(&self) -> Result<(), BusError> {
        if self.node.0.is_closed() { Err(BusError::closed()) } else { Ok(()) }
    }

    async fn close(&self, _limit: Duration) {
        self.node.0.close();
    }
}
