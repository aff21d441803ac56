//! What is done to a cluster, chosen by a seed.

use std::fmt;

use crate::{options::Kind, random::Random};

/// A server that nodes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Postgres,
    Nats,
}

/// What may happen to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// It is reset, and others are accepted.
    Cut,
    /// It is reset, and others are refused.
    Refuse,
    /// Nothing passes.
    Hold,
    /// What the server answers is lost.
    LoseReplies,
    /// Everything is late by so many milliseconds.
    Delay(u64),
}

/// What may happen to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    Restart,
    Kill,
    Pause,
}

/// A fault; each is over after its milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A node is killed, and started again; sometimes it is killed once more so many milliseconds after it was started.
    Kill { node: usize, down: u64, again: Option<u64> },
    /// A node stands still.
    Pause { node: usize, time: u64 },
    /// The way from a node to a server breaks.
    Link { node: usize, to: Server, how: Break, time: u64 },
    /// The disk is full.
    Fill { time: u64 },
    /// A server is hurt.
    Hurt { server: Server, how: Blow, time: u64 },
}

impl Fault {
    /// The next fault of a cluster of so many nodes with these servers, of this kind if one is given; `lease` in
    /// milliseconds, so that some faults are shorter and some longer.
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

    /// A kill; one in six hits the node as it starts, too.
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
            Self::Pause { node, time } => write!(f, "node {node} stands still for {time} ms"),
            Self::Link { node, to, how, time } => write!(f, "node {node} to {to:?}: {how:?} for {time} ms"),
            Self::Fill { time } => write!(f, "the disk is full for {time} ms"),
            Self::Hurt { server, how, time } => write!(f, "{server:?}: {how:?} for {time} ms"),
        }
    }
}
