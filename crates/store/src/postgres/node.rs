//! This node among those that have the store open.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use nuncio_engine::{
    StoreError,
    store::{NodeId, Orphan},
};
use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::unavailable;

#[derive(Debug)]
pub(super) struct Node {
    id: AtomicU64,
    /// Tasks that this node may have claimed without knowing: the claim's answer was lost, or nobody waited for it.
    /// They would be this node's for ever, and nobody at work on them. Since when.
    unknown_claims: Mutex<HashMap<(Scope, TaskId), Instant>>,
}

impl Node {
    pub(super) fn new(id: NodeId) -> Self {
        Self { id: AtomicU64::new(id.0), unknown_claims: Mutex::default() }
    }

    /// That of a store that only looks after the database. No node has this id, as they are counted from 1.
    pub(super) fn none() -> Self {
        Self::new(NodeId(0))
    }

    /// Whether this is no node.
    pub(super) fn is_none(&self) -> bool {
        self.id() == NodeId(0)
    }

    /// The id to work under.
    pub(super) fn at_work(&self) -> Result<NodeId, StoreError> {
        if self.is_none() {
            return Err(unavailable("the store was opened to look after it, not to work on tasks"));
        }
        Ok(self.id())
    }

    pub(super) fn id(&self) -> NodeId {
        NodeId(self.id.load(Ordering::Acquire))
    }

    /// Goes on under another id. What the old one has is others' to claim.
    pub(super) fn reborn(&self, id: NodeId) {
        self.id.store(id.0, Ordering::Release);
        self.unknown_claims.lock().clear();
    }

    /// To be held while a claim is under way, and let go of by [`Claiming::known`].
    pub(super) fn claiming(&self, scope: &Scope, id: &TaskId) -> Claiming<'_> {
        Claiming { node: self, task: Some((scope.clone(), id.clone())) }
    }

    pub(super) fn unknown_claims(&self) -> Vec<TaskId> {
        self.unknown_claims.lock().keys().map(|(_, id)| id.clone()).collect()
    }

    /// Forgets those that the store says are not this node's, all of which is known: `owned` are. A claim that is
    /// younger than the longest call may still be on its way; one that is older was made by now, or never will be.
    pub(super) fn forget_unknown(&self, owned: &[Orphan], longest_call: Duration) {
        self.unknown_claims.lock().retain(|(scope, id), since| {
            since.elapsed() <= longest_call || owned.iter().any(|it| it.id == *id && it.scope == *scope)
        });
    }
}

/// A claim whose outcome is not known yet.
pub(super) struct Claiming<'a> {
    node: &'a Node,
    task: Option<(Scope, TaskId)>,
}

impl Claiming<'_> {
    /// Its outcome is known, and whoever asked is told.
    pub(super) fn known(mut self) {
        if let Some(task) = self.task.take() {
            self.node.unknown_claims.lock().remove(&task);
        }
    }
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        self.node.unknown_claims.lock().extend(self.task.take().map(|task| (task, Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_nobody_heard_of_is_kept_in_mind_until_it_is_known_to_have_come_to_nothing() {
        let (node, scope) = (Node::new(NodeId(1)), Scope::open());
        let (call, long) = (Duration::ZERO, Duration::from_mins(1));
        let ids = || {
            let mut ids: Vec<_> = node.unknown_claims().iter().map(ToString::to_string).collect();
            ids.sort();
            ids
        };
        for id in ["landed", "lost", "known"] {
            drop(node.claiming(&scope, &id.into()));
        }
        node.claiming(&scope, &"known".into()).known();
        assert_eq!(ids(), ["landed", "lost"]);
        let landed = [Orphan { scope: scope.clone(), id: "landed".into() }];
        node.forget_unknown(&landed, long);
        assert_eq!(ids(), ["landed", "lost"], "it may still be on its way");
        std::thread::sleep(Duration::from_millis(1));
        node.forget_unknown(&landed, call);
        assert_eq!(ids(), ["landed"]);
        node.reborn(NodeId(2));
        assert_eq!(ids(), [""; 0]);
    }
}
