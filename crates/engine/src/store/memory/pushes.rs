//! Changes of the push configurations of a task. The callers hold the lock of the task.

use std::sync::Arc;

use nuncio_model::{PushConfigId, Timestamp};

use super::{
    hooks::{Hook, Outbox},
    node::{Head, MemoryNode},
};
use crate::store::{DuePush, PushConfig, PushSettlement};

/// Adds the configurations of a new task.
pub(super) fn add(head: &mut Head, configs: Vec<PushConfig>) {
    let hooks = head.hooks_or_new();
    hooks.extend(configs.into_iter().map(|config| Hook::new(config.config, config.format, 0)));
    hooks.sort_by(|one, two| one.id.cmp(&two.id));
}

/// Makes the records up to `sequence` pending for every configuration.
pub(super) fn add_pending(outbox: &Outbox, node: &Arc<MemoryNode>, head: &mut Head, sequence: u64) {
    let now = Timestamp::now();
    for hook in head.hooks_mut().into_iter().flatten() {
        if hook.keeps_its_time(now) {
            hook.pending = sequence;
        } else {
            outbox.change(node, hook, |hook| hook.add_pending(sequence, now));
        }
    }
}

/// Stores a configuration, or replaces the configuration with the same id.
pub(super) fn put(outbox: &Outbox, node: &Arc<MemoryNode>, head: &mut Head, config: PushConfig) {
    let sequence = head.sequence;
    let hook = Hook::new(config.config, config.format, config.delivered.min(sequence));
    let hooks = head.hooks_or_new();
    let place = match hooks.binary_search_by(|known| known.id.cmp(&hook.id)) {
        Ok(place) => {
            outbox.forget(node, &hooks[place]);
            hooks[place] = hook;
            place
        }
        Err(place) => {
            hooks.insert(place, hook);
            place
        }
    };
    outbox.change(node, &mut hooks[place], |hook| hook.add_pending(sequence, Timestamp::now()));
}

/// Removes a configuration, if it exists.
pub(super) fn delete(outbox: &Outbox, node: &Arc<MemoryNode>, head: &mut Head, id: &PushConfigId) {
    if let Some(hooks) = head.hooks_mut() {
        hooks.retain(|hook| {
            if hook.id == *id {
                outbox.forget(node, hook);
            }
            hook.id != *id
        });
    }
}

/// Stores the result of an attempt, if the configuration exists.
pub(super) fn settle(outbox: &Outbox, node: &Arc<MemoryNode>, head: &mut Head, settlement: &PushSettlement) {
    let hooks = head.hooks_mut().into_iter().flatten();
    for hook in hooks.filter(|hook| hook.id == settlement.id) {
        outbox.change(node, hook, |hook| {
            hook.delivered = hook.delivered.max(settlement.delivered);
            hook.attempts = settlement.attempts;
            hook.next_attempt = settlement.next_attempt;
        });
    }
}

/// The due configurations, longest due first.
pub(super) fn due(outbox: &Outbox, now: Timestamp, limit: usize) -> Vec<DuePush> {
    let due = outbox.due(now, limit).into_iter();
    due.filter_map(|(node, id)| {
        let head = node.head.lock();
        let hook = head.hooks().iter().find(|hook| hook.id == id && hook.has_pending())?;
        Some(hook.to_due(&node))
    })
    .collect()
}
