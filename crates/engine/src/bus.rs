//! The bus: signals to other nodes that a task has changed or that a command was stored.
//!
//! The log is the truth, and the bus only wakes nodes. A lost, duplicate or late signal costs only time, because the next
//! poll of the store finds every change. `nuncio_suites::bus_suite!` tests an implementation of this contract.
//!
//! [`LocalBus`] connects engines of one process. [`RemoteBus`] connects processes over a [`Broker`]: it queues signals,
//! detects lost connections, reconnects, and reports lost signals, so that a broker only has to provide connections.

mod listeners;
mod local;
mod newest;
mod notice;
mod outgoing;
mod remote;

use std::{fmt, time::Duration};

use async_trait::async_trait;
pub use listeners::Listeners;
pub use local::LocalBus;
pub use notice::{LONGEST_NOTICE, Notice};
use nuncio_model::TaskId;
pub use remote::{BoxError, Broker, Connection, RemoteBus};

use crate::store::NodeId;

/// Carries signals between nodes.
#[async_trait]
pub trait EventBus: Send + Sync + 'static {
    /// Publishes a signal without waiting. A signal that cannot be sent now is sent later or dropped. Of several signals of
    /// one task, subscribers may get only the newest.
    fn publish(&self, topic: Topic, wake: Wake);

    /// Subscribes to a topic. Signals that any node publishes after this returns reach the subscription, until the
    /// subscription returns [`Signal::Lost`]. An implementation therefore makes a round trip to the broker first.
    ///
    /// # Errors
    ///
    /// If the bus cannot be reached within the timeout of the implementation, or is closed.
    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError>;

    /// Whether the bus can be reached. The answer is known locally and may be a few seconds old. Only a new bus waits for its
    /// first connection, up to its own timeout.
    ///
    /// # Errors
    ///
    /// The reason for which the bus cannot be reached, or that the bus is closed.
    async fn check(&self) -> Result<(), BusError>;

    /// Sends waiting signals for at most `limit`, and leaves the bus: the subscriptions of this node end, and later signals
    /// of this node are dropped. Other nodes are not affected.
    async fn close(&self, limit: Duration);
}

/// A subscription to one topic, until dropped.
#[async_trait]
pub trait Subscription: Send {
    /// Waits for the next signal, also during an outage. Dropping the future loses no signal. `None` after the bus is
    /// closed.
    async fn next(&mut self) -> Option<Signal>;
}

/// A signal of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A task has changed.
    Wake(Wake),
    /// Signals may have been lost before this signal: after an outage, or because too many signals arrived. Later signals
    /// arrive again.
    Lost,
}

/// A change of a task, or a command for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The task.
    pub task: TaskId,
    /// The sequence number of the last record; 0 for a command.
    pub sequence: u64,
}

/// A topic of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Changes of the tasks of one shard, from 0 to [`Topic::SHARDS`] - 1.
    Tasks(u16),
    /// Commands to a node.
    Node(NodeId),
}

impl Topic {
    /// The number of shards: few enough to subscribe to all, and enough that a node gets few unneeded signals.
    pub const SHARDS: u16 = 256;

    /// The topic with this name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once('.')? {
            ("tasks", shard) => shard.parse().ok().filter(|shard| *shard < Self::SHARDS).map(Self::Tasks),
            ("node", node) => node.parse().ok().map(|node| Self::Node(NodeId(node))),
            _ => None,
        }
    }

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

/// The name, in lower-case letters, digits and dots: `tasks.17`, `node.4`.
impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tasks(shard) => write!(f, "tasks.{shard}"),
            Self::Node(node) => write!(f, "node.{node}"),
        }
    }
}

/// The bus could not be reached.
#[derive(thiserror::Error)]
#[error("the bus cannot be reached")]
pub struct BusError(#[source] pub BoxError);

nuncio_model::debug_is_text!(BusError);

impl BusError {
    fn closed() -> Self {
        Self("this node has left the bus".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_names() {
        for topic in [Topic::Tasks(0), Topic::Tasks(255), Topic::Node(NodeId(0)), Topic::Node(NodeId(u64::MAX))] {
            assert_eq!(Topic::named(&topic.to_string()), Some(topic));
        }
        for name in ["", "tasks", "tasks.", "tasks.256", "tasks.-1", "node.x", "other.1"] {
            assert_eq!(Topic::named(name), None, "{name}");
        }
    }

    #[test]
    fn tasks_spread_over_the_shards_and_stay_there() {
        assert_eq!(Topic::of(&"0191d6a0-0000-7000-8000-000000000001".into()), Topic::Tasks(111));
        let shards: std::collections::HashSet<_> =
            (0..10_000).map(|number| Topic::of(&format!("task-{number}").into())).collect();
        assert_eq!(shards.len(), usize::from(Topic::SHARDS));
    }
}
