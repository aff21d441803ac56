//! Faults of a cluster, chosen by a seed.

use std::fmt;

use crate::{options::Kind, random::Random};

/// A server on which nodes depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Postgres,
    Nats,
}

/// A fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// Connections are reset, and new connections are accepted.
    Cut,
    /// Connections are reset, and new connections are refused.
    Refuse,
    /// Data is held back in both directions.
    Hold,
    /// Answers of the server are lost.
    LoseReplies,
    /// Data is delayed by this number of milliseconds.
    Delay(u64),
}

/// A fault of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    Restart,
    Kill,
    Pause,
}

/// A fault; each fault ends after its milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A node is killed and started again. With `again`, the node is killed once more this number of milliseconds after
    /// its start.
    Kill { node: usize, down: u64, again: Option<u64> },
    /// A node is paused.
    Pause { node: usize, time: u64 },
    /// A link from a node to a server fails.
    Link { node: usize, to: Server, how: Break, time: u64 },
    /// The disk is full.
    Fill { time: u64 },
    /// A server has a fault.
    Hurt { server: Server, how: Blow, time: u64 },
}

impl Fault {
    /// The next fault for a cluster with this number of nodes and these servers, of the given kind if any. `lease` is
    /// in milliseconds; some faults are shorter and some are longer than the lease.
    pub(crate) fn next(random: &mut Random, nodes: usize, servers: &[Server], lease: u64, only: Option<Kind>) -> Self {
        let node = usize::try_from(random.range(0, nodes as u64)).unwrap_or(0);
        let short = random.range(20, 400);
        let any = random.range(50, 5 * lease / 2);
        let server = random.choose(servers).copied();
        let any_kind = match random.range(0, 100) {
            0..30 => Kind::Kill,
            30..50 => Kind::Pause,
            50..85 => Kind::Link,
            _ => Kind::Server,
        };
        match (only.unwrap_or(any_kind), server) {
            (Kind::Kill, _) | (_, None) => Self::kill(random, node, short),
            (Kind::Pause, _) => Self::Pause { node, time: any },
            (Kind::Link, Some(to)) => {
                let how = match random.range(0, 5) {
                    0 => Break::Cut,
                    1 => Break::Refuse,
                    2 => Break::Hold,
                    3 => Break::LoseReplies,
                    _ => Break::Delay(random.range(5, 120)),
                };
                Self::Link { node, to, how, time: any }
            }
            (Kind::Server, Some(server)) => {
                let how = match random.range(0, 3) {
                    0 => Blow::Restart,
                    1 => Blow::Kill,
                    _ => Blow::Pause,
                };
                Self::Hurt { server, how, time: short }
            }
        }
    }

    /// A kill; one kill in six also hits the node during its start.
    pub(crate) fn kill(random: &mut Random, node: usize, down: u64) -> Self {
        let again = random.chance(16).then(|| random.range(1, 250));
        Self::Kill { node, down, again }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { node, down, again: None } => write!(f, "node {node} is killed and down for {down} ms"),
            Self::Kill { node, down, again: Some(after) } => {
                write!(f, "node {node} is killed and down for {down} ms, and killed again after {after} ms")
            }
            Self::Pause { node, time } => write!(f, "node {node} is paused for {time} ms"),
            Self::Link { node, to, how, time } => write!(f, "node {node} to {to:?}: {how:?} for {time} ms"),
            Self::Fill { time } => write!(f, "the disk is full for {time} ms"),
            Self::Hurt { server, how, time } => write!(f, "{server:?}: {how:?} for {time} ms"),
        }
    }
}
