//! The state of the cluster: leases, owners and waiting commands.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use nuncio_engine::store::{Command, CommandId, CommandStatus, NodeId};
use nuncio_model::{Scope, TaskId, TaskState};
use tokio::time::Instant;

pub(super) type Key = (Scope, TaskId);

#[derive(Default)]
pub(super) struct State {
    last: u64,
    expiries: HashMap<NodeId, Instant>,
    pub(super) owners: HashMap<Key, Owner>,
    pub(super) commands: BTreeMap<CommandId, Waiting>,
}

/// The owner of a task.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) node: NodeId,
    pub(super) epoch: u64,
    pub(super) at_work: bool,
    pub(super) state: TaskState,
    /// The sequence number of the last record.
    pub(super) sequence: u64,
    /// The position of the task in the order of creation.
    pub(super) number: usize,
}

impl Owner {
    pub(super) fn has_ended(&self) -> bool {
        self.state.is_terminal()
    }
}

pub(super) struct Waiting {
    pub(super) command: Command,
    pub(super) status: CommandStatus,
    pub(super) since: Instant,
}

impl State {
    pub(super) fn join(&mut self, lease: Duration) -> NodeId {
        self.last += 1;
        let node = NodeId(self.last);
        self.expiries.insert(node, Instant::now() + lease);
        node
    }

    pub(super) fn lives(&self, node: NodeId) -> bool {
        self.expiries.get(&node).is_some_and(|expiry| Instant::now() < *expiry)
    }

    /// Extends the lease of a live node. Returns whether the node was alive.
    pub(super) fn renew(&mut self, node: NodeId, lease: Duration) -> bool {
        let lives = self.lives(node);
        if lives {
            self.expiries.insert(node, Instant::now() + lease);
        }
        lives
    }

    pub(super) fn leave(&mut self, node: NodeId) {
        self.expiries.remove(&node);
    }

    /// The live node that is at work on a task.
    pub(super) fn holder(&self, key: &Key) -> Option<NodeId> {
        self.owners.get(key).filter(|owner| owner.at_work && self.lives(owner.node)).map(|owner| owner.node)
    }

    /// The commands that were neither acknowledged nor refused, oldest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.commands.values().filter(|it| it.status.acked.is_none() && it.status.refused.is_none())
    }

    pub(super) fn key(command: &Command) -> Key {
        (command.scope.clone(), command.task.clone())
    }

    /// The owners that match, in the order of task creation.
    fn owners(&self, is_meant: impl Fn(&Owner) -> bool) -> Vec<(&Key, &Owner)> {
        let mut owners: Vec<_> = self.owners.iter().filter(|(_, owner)| is_meant(owner)).collect();
        owners.sort_by_key(|(_, owner)| owner.number);
        owners
    }

    /// The tasks at work on a node, in the order of creation, after the position of the cursor.
    pub(super) fn at_work(&self, node: NodeId, after: Option<usize>, limit: usize) -> Vec<(&Key, &Owner)> {
        let is_meant = |it: &Owner| it.at_work && it.node == node && after.is_none_or(|after| it.number > after);
        self.owners(is_meant).into_iter().take(limit).collect()
    }

    /// The tasks that need a runner and have no live owner, or whose commands have waited for longer than a lease.
    pub(super) fn orphans(&self, lease: Duration) -> Vec<Key> {
        let is_left = |it: &Owner| {
            let is_cut_off = it.at_work && !self.lives(it.node);
            !it.has_ended() && (is_cut_off || !it.at_work && !it.state.is_interrupted())
        };
        let mut left: Vec<_> = self.owners(is_left).into_iter().map(|(key, _)| key.clone()).collect();
        let old = self.waiting().filter(|it| it.since.elapsed() > lease).map(|it| Self::key(&it.command));
        let is_open = |key: &Key| self.owners.get(key).is_some_and(|owner| !owner.has_ended());
        let unheld = old.filter(|key| self.holder(key).is_none() && is_open(key));
        left.extend(unheld);
        left.dedup();
        left
    }
}
