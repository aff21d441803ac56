//! The identity of this node among the nodes that use the store.

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
    /// Tasks that this node may have claimed without a known result, because the answer was lost or the caller was
    /// dropped. Without this list, such tasks would belong to this node forever, but without a runner. The value is the
    /// time of the claim.
    unknown_claims: Mutex<HashMap<(Scope, TaskId), Instant>>,
}

impl Node {
    pub(super) fn new(id: NodeId) -> Self {
        Self { id: AtomicU64::new(id.0), unknown_claims: Mutex::default() }
    }

    /// The identity of a store that is opened for administration. No node has the id 0, because ids start at 1.
    pub(super) fn none() -> Self {
        Self::new(NodeId(0))
    }

    /// Whether this store is opened for administration and is not a node.
    pub(super) fn is_none(&self) -> bool {
        self.id() == NodeId(0)
    }

    /// The id of this node, for work on tasks.
    pub(super) fn at_work(&self) -> Result<NodeId, StoreError> {
        if self.is_none() {
            return Err(unavailable("the store was opened for administration and cannot work on tasks"));
        }
        Ok(self.id())
    }

    pub(super) fn id(&self) -> NodeId {
        NodeId(self.id.load(Ordering::Acquire))
    }

    /// Continues with a new id. Other nodes can claim the tasks of the old id.
    pub(super) fn reborn(&self, id: NodeId) {
        self.id.store(id.0, Ordering::Release);
        self.unknown_claims.lock().clear();
    }

    /// Must be held during a claim. [`Claiming::known`] marks the claim as completed.
    pub(super) fn claiming(&self, scope: &Scope, id: &TaskId) -> Claiming<'_> {
        Claiming { node: self, task: Some((scope.clone(), id.clone())) }
    }

    pub(super) fn unknown_claims(&self) -> Vec<TaskId> {
        self.unknown_claims.lock().keys().map(|(_, id)| id.clone()).collect()
    }

    /// Removes the tasks that do not belong to this node. `owned` must contain all unknown claims that belong to this
    /// node. A claim that is younger than the longest call may still be executed. An older claim either was executed or
    /// will never be.
    pub(super) fn forget_unknown(&self, owned: &[Orphan], longest_call: Duration) {
        self.unknown_claims.lock().retain(|(scope, id), since| {
            since.elapsed() <= longest_call || owned.iter().any(|it| it.id == *id && it.scope == *scope)
        });
    }
}

/// A claim with an unknown result.
pub(super) struct Claiming<'a> {
    node: &'a Node,
    task: Option<(Scope, TaskId)>,
}

impl Claiming<'_> {
    /// Marks the result as known. Must be called when the caller gets the result.
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
    fn an_unknown_claim_is_remembered_until_the_store_shows_it_failed() {
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
        assert_eq!(ids(), ["landed", "lost"], "the claim may still be executed");
        std::thread::sleep(Duration::from_millis(1));
        node.forget_unknown(&landed, call);
        assert_eq!(ids(), ["landed"]);
        node.reborn(NodeId(2));
        assert_eq!(ids(), [""; 0]);
    }
}
