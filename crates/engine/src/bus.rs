//! The seam to what wakes other nodes: that a task has changed, that a letter has come.
//!
//! The log is the truth, and the bus only wakes: a signal that is lost, doubled or late costs time and nothing else, as
//! what is missed is found by the next look at the store. `engine::testing::bus_suite!` holds an implementation against
//! this contract.

mod local;

use std::{fmt, time::Duration};

use async_trait::async_trait;
pub use local::LocalBus;
use nuncio_model::TaskId;

use crate::store::NodeId;

/// Carries signals between nodes.
#[async_trait]
pub trait EventBus: Send + Sync + 'static {
    /// Tells whoever listens to the topic. Does not wait: what cannot be sent now is sent later or dropped. Several
    /// signals of one task may arrive as the newest alone.
    fn publish(&self, topic: Topic, wake: Wake);

    /// Listens to a topic. What is published on any node from the moment this returns on reaches the subscription, for as
    /// long as it gives no [`Signal::Lost`]: an implementation makes a round trip to whatever carries the signals first.
    ///
    /// # Errors
    ///
    /// When the bus cannot be reached within a time of its own; try again later.
    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError>;

    /// Whether the bus can be reached.
    async fn check(&self) -> Result<(), BusError>;

    /// Sends what is waiting, for so long at most, and leaves.
    async fn close(&self, patience: Duration);
}

/// Listens to one topic until it is dropped.
#[async_trait]
pub trait Subscription: Send {
    /// The next signal; waits for one, through outages too. Loses nothing when its future is dropped. `None` once the bus
    /// is closed.
    async fn next(&mut self) -> Option<Signal>;
}

/// What a subscription gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Something has changed.
    Wake(Wake),
    /// Signals may have been lost until now: there was an outage that is over, or too many came at once. From now on
    /// they come again.
    Lost,
}

/// That a task has changed, or is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The task.
    pub task: TaskId,
    /// The sequence number of its last record; 0 for a letter.
    pub sequence: u64,
}

/// What is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Changes of the tasks of one shard, from 0 to [`Topic::SHARDS`] - 1.
    Tasks(u16),
    /// Letters to a node.
    Node(NodeId),
}

impl Topic {
    /// How many shards there are. Few enough to listen to all, enough that a node listens to few that it does not need.
    pub const SHARDS: u16 = 256;

    /// The topic of a task's changes.
    pub fn of(task: &TaskId) -> Self {
        // The same on every node and in every release: FNV-1a.
        let hash = task
            .as_str()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self::Tasks(u16::try_from(hash % u32::from(Self::SHARDS)).unwrap_or_default())
    }
}

/// Its name, in lower-case letters, digits and dots: `tasks.17`, `node.4`.
impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tasks(shard) => write!(f, "tasks.{shard}"),
            Self::Node(node) => write!(f, "node.{node}"),
        }
    }
}

/// The bus could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("the bus cannot be reached")]
pub struct BusError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
