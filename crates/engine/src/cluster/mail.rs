//! The mail of this node: letters of others for tasks that it runs, found by a signal or by a look now and then.

use std::sync::{Arc, Weak};

use tokio::{
    select,
    time::{MissedTickBehavior, interval},
};

use super::follow;
use crate::{inbox::Control, shared::Shared, store::Cluster};

/// How many letters are read at a time.
const MAIL: usize = 256;

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
        }
    }
}

/// Hands letters to the runners of their tasks.
async fn read_mail(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    match cluster.mail(MAIL).await {
        Ok(letters) => {
            for letter in letters {
                if let Some(hold) = shared.registry.find(&letter.scope, &letter.task) {
                    hold.tell_runner(Control::Letter(letter));
                }
            }
        }
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "the mail cannot be read"),
    }
}
