//! Push configurations with their pending records.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_model::{PushConfigId, TaskId, TaskPushNotificationConfig, Timestamp};
use parking_lot::Mutex;

use super::{node::MemoryNode, order::Moment};
use crate::store::{DuePush, PushConfig};

/// A push configuration of a task.
pub(super) struct Hook {
    pub(super) id: PushConfigId,
    pub(super) config: TaskPushNotificationConfig,
    pub(super) format: Option<Box<str>>,
    pub(super) delivered: u64,
    pub(super) pending: u64,
    pub(super) attempts: u32,
    pub(super) next_attempt: Timestamp,
}

impl Hook {
    /// A configuration with delivered records up to `delivered`.
    pub(super) fn new(config: TaskPushNotificationConfig, format: Option<Box<str>>, delivered: u64) -> Self {
        let id = config.id.clone().unwrap_or_default();
        Self { id, config, format, delivered, pending: delivered, attempts: 0, next_attempt: Timestamp::default() }
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending > self.delivered
    }

    /// Whether another record would not change the due time.
    pub(super) fn keeps_its_time(&self, now: Timestamp) -> bool {
        self.has_pending() && (self.attempts > 0 || self.next_attempt <= now)
    }

    /// Makes the records up to `sequence` pending. Pending records keep their due time, and new records are due now.
    /// Without a failed attempt, the due time is never in the future, even after a change of the clock.
    pub(super) fn add_pending(&mut self, sequence: u64, now: Timestamp) {
        if !self.keeps_its_time(now) {
            self.next_attempt = now;
        }
        self.pending = sequence;
    }

    pub(super) fn to_config(&self) -> PushConfig {
        PushConfig { config: self.config.clone(), format: self.format.clone(), delivered: self.delivered }
    }

    pub(super) fn to_due(&self, node: &MemoryNode) -> DuePush {
        DuePush {
            scope: node.scope.scope.clone(),
            config: self.config.clone(),
            delivered: self.delivered,
            pending: self.pending,
            attempts: self.attempts,
        }
    }
}

/// The configurations with pending records, by due time. The lock of a node protects its configurations.
#[derive(Default)]
pub(super) struct Outbox {
    due: Mutex<BTreeMap<OutboxKey, Arc<MemoryNode>>>,
}

type OutboxKey = (Moment, TaskId, PushConfigId);

impl Outbox {
    /// Changes a configuration and its entry in the outbox.
    pub(super) fn change(&self, node: &Arc<MemoryNode>, hook: &mut Hook, change: impl FnOnce(&mut Hook)) {
        self.forget(node, hook);
        change(hook);
        if hook.has_pending() {
            self.due.lock().insert(key(node, hook), Arc::clone(node));
        }
    }

    /// Removes a configuration from the outbox.
    pub(super) fn forget(&self, node: &MemoryNode, hook: &Hook) {
        if hook.has_pending() {
            self.due.lock().remove(&key(node, hook));
        }
    }

    /// The configurations that are due, longest due first.
    pub(super) fn due(&self, now: Timestamp, limit: usize) -> Vec<(Arc<MemoryNode>, PushConfigId)> {
        let now = Moment::from(now);
        let due = self.due.lock();
        due.iter()
            .take_while(|((at, ..), _)| *at <= now)
            .take(limit)
            .map(|((_, _, id), node)| (Arc::clone(node), id.clone()))
            .collect()
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.lock().first_key_value().map(|((at, ..), _)| Timestamp::from(*at))
    }
}

fn key(node: &MemoryNode, hook: &Hook) -> OutboxKey {
    (hook.next_attempt.into(), node.id.clone(), hook.id.clone())
}
