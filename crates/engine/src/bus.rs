//! The seam to what wakes other nodes: that a task has changed, that a command has come.
//!
//! The log is the truth, and the bus only wakes: a signal that is lost, doubled or late costs time and nothing else, as
//! what is missed is found by the next look at the store. `nuncio_suites::bus_suite!` holds an implementation against
//! this contract.
//!
//! [`LocalBus`] is for engines of one process. For others there is [`RemoteBus`] over a [`Broker`]: it keeps what is to be
//! sent, finds out when a connection is lost, makes it anew and says so, so that a broker is nothing but connections.

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
    /// Tells whoever listens to the topic. Does not wait: what cannot be sent now is sent later or dropped. Several
    /// signals of one task may arrive as the newest alone.
    fn publish(&self, topic: Topic, wake: Wake);

    /// Listens to a topic. What is published on any node from the moment this returns on reaches the subscription, for
    /// as long as it gives no [`Signal::Lost`]: an implementation makes a round trip to whatever carries the signals
    /// first.
    ///
    /// # Errors
    ///
    /// When the bus cannot be reached within a time of its own; try again later. And when it is closed.
    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError>;

    /// Whether the bus can be reached. Known without asking anybody, so it may be a few seconds old; only a bus that
    /// was just made waits for its first connection, for a time of its own.
    ///
    /// # Errors
    ///
    /// Why it cannot be reached; that it is closed.
    async fn check(&self) -> Result<(), BusError>;

    /// Sends what is waiting, for so long at most, and leaves: the subscriptions of this node end, and what is
    /// published from here later goes nowhere. Other nodes notice nothing.
    async fn close(&self, limit: Duration);
}

/// Listens to one topic until it is dropped.
#[async_trait]
pub trait Subscription: Send {
    /// The next signal; waits for one, through outages too. Loses nothing when its future is dropped. `None` once the
    /// bus is closed.
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
    /// The sequence number of its last record; 0 for a command.
    pub sequence: u64,
}

/// What is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Changes of the tasks of one shard, from 0 to [`Topic::SHARDS`] - 1.
    Tasks(u16),
    /// Commands to a node.
    Node(NodeId),
}

impl Topic {
    /// How many shards there are. Few enough to listen to all, enough that a node listens to few that it does not need.
    pub const SHARDS: u16 = 256;

    /// The topic of this name; `None` where it is none.
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
#[derive(thiserror::Error)]
#[error("the bus cannot be reached")]
pub struct BusError(#[source] pub BoxError);

nuncio_model::debug_is_text!(BusError);

impl BusError {
    fn closed() -> Self {
        Self("this node has left it".into())
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
