//! Commands that other nodes enqueued for tasks of this node. A signal announces them; a periodic read of the store
//! finds commands after a lost signal.

use std::sync::{Arc, Weak};

use tokio::{
    select,
    time::{MissedTickBehavior, interval},
};

use super::{follow, statuses};
use crate::{
    inbox::Control,
    registry::TaskRef,
    shared::Shared,
    store::{Cluster, Command},
};

/// The number of commands in the first read, and the maximum.
const FEW: usize = 256;
const MANY: usize = 8192;

/// Reads pending commands after a signal, and the whole state of the cluster periodically.
pub(super) async fn look_after(shared: Weak<Shared>) {
    let Some((left, pending, lost, period)) = shared.upgrade().map(|shared| {
        let members = &shared.members;
        (members.left().clone(), members.pending(), members.lost(), shared.limits.poll_interval)
    }) else {
        return;
    };
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let mut only_pending = false;
        select! {
            () = left.cancelled() => return,
            _ = ticks.tick() => {}
            () = lost.notified() => {}
            () = pending.notified() => only_pending = true,
        }
        let Some(shared) = shared.upgrade() else { return };
        let Some(cluster) = shared.store.cluster() else { return };
        read_pending(&shared, cluster).await;
        if !only_pending {
            follow::poll(&shared, cluster).await;
            statuses::poll(&shared, cluster).await;
        }
    }
}

/// Gives pending commands to the runners of their tasks.
async fn read_pending(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let mut number = FEW;
    loop {
        let commands = match cluster.pending(number).await {
            Ok(commands) => commands,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cluster: cannot read pending commands; retrying"
                );
                return;
            }
        };
        let is_all = commands.len() < number;
        for command in commands {
            hand(shared, command);
        }
        if is_all || number >= MANY {
            return;
        }
        // Commands that a runner processes come first in the result until a commit acknowledges them.
        number *= 2;
    }
}

/// Gives a command to the runner of its task, unless a runner has the command.
fn hand(shared: &Arc<Shared>, command: Command) {
    let Some(guard) = shared.members.take(&command.id) else { return };
    let (scope, task) = (command.scope.clone(), command.task.clone());
    let is_told = |task_ref: TaskRef| task_ref.has_told_runner(Control::Command(command, guard));
    if !shared.registry.find(&scope, &task).is_some_and(is_told) {
        // This node owns the task and has no runner for it. The claim that settles the task returns the commands.
        shared.settle_later(&scope, &task);
    }
}
