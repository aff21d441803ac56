//! The mail of this node: letters of others for tasks that it runs, found by a signal or by a look now and then.

use std::sync::{Arc, Weak};

use tokio::{
    select,
    time::{MissedTickBehavior, interval},
};

use super::{follow, letters};
use crate::{
    inbox::Control,
    registry::Hold,
    shared::Shared,
    store::{Cluster, Letter},
};

/// How many letters are read at a time to begin with, and at most.
const FEW: usize = 256;
const MANY: usize = 8192;

/// Reads the mail when there is some, and looks at the store now and then for what no signal told.
pub(super) async fn look_after(shared: Weak<Shared>) {
    let Some((left, mail, lost, period)) = shared.upgrade().map(|shared| {
        let members = &shared.members;
        (members.left().clone(), members.mail(), members.lost(), shared.limits.reread)
    }) else {
        return;
    };
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let mut only_mail = false;
        select! {
            () = left.cancelled() => return,
            _ = ticks.tick() => {}
            () = lost.notified() => {}
            () = mail.notified() => only_mail = true,
        }
        let Some(shared) = shared.upgrade() else { return };
        let Some(cluster) = shared.store.cluster() else { return };
        read_mail(&shared, cluster).await;
        if !only_mail {
            follow::reread(&shared, cluster).await;
            letters::reread(&shared, cluster).await;
        }
    }
}

/// Hands letters to the runners of their tasks.
async fn read_mail(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let mut number = FEW;
    loop {
        let letters = match cluster.mail(number).await {
            Ok(letters) => letters,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the mail cannot be read");
                return;
            }
        };
        let is_all = letters.len() < number;
        for letter in letters {
            hand(shared, letter);
        }
        if is_all || number >= MANY {
            return;
        }
        // Those that are in a runner's hands stand before the others until it has committed them.
        number *= 2;
    }
}

/// Hands a letter to the runner of its task, if no runner has it yet.
fn hand(shared: &Arc<Shared>, letter: Letter) {
    let Some(taking) = shared.members.take(&letter.id) else { return };
    let (scope, task) = (letter.scope.clone(), letter.task.clone());
    let is_told = |hold: Hold| hold.has_told_runner(Control::Letter(letter, taking));
    if !shared.registry.find(&scope, &task).is_some_and(is_told) {
        // The task is this node's, and nobody here is at work on it: who settles it is given its letters.
        shared.abandon(&scope, &task);
    }
}
