//! This node among others: it keeps its lease, adopts the tasks of nodes that are gone, reads its mail, and sees to it
//! that what is read here of tasks elsewhere is the newest.
//!
//! The store decides everything; the bus only makes it quick. Whatever a signal would have told is found by a look at the
//! store about once a second ([`Limits::reread`](crate::Limits)).

mod adopt;
mod correspondence;
mod follow;
mod letter;
mod listen;
mod membership;

use std::sync::{Arc, Weak};

pub(crate) use correspondence::{Correspondence, answer, forward, look_whose_turn, mark};
pub(crate) use follow::{catch_up, stay};
pub(crate) use letter::Body;
pub(crate) use membership::Membership;
use tokio::{
    select,
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    bus::Topic,
    inbox::Control,
    shared::Shared,
    store::{Cluster, Lease},
};

/// How many letters are read at a time.
const MAIL: usize = 256;

/// Takes part: from now on this node keeps its lease, until the engine stops.
pub(crate) fn join(shared: &Arc<Shared>) {
    if shared.store.cluster().is_none() || shared.members.has_joined() {
        return;
    }
    Shared::spawn(keep_lease(Arc::downgrade(shared)));
    Shared::spawn(look_after(Arc::downgrade(shared)));
    Shared::spawn(adopt::adopt(Arc::downgrade(shared)));
}

/// Renews the lease three times within its length. A node that has lost it stops what it runs: others run it.
async fn keep_lease(shared: Weak<Shared>) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let Some(cluster) = shared.store.cluster() else { return };
        let mut pause = cluster.lease() / 3;
        shared.members.listen(&shared, Topic::Node(cluster.node())).await;
        match cluster.renew().await {
            // What another node owed to webhooks when it went is nobody's to tell.
            Ok(Lease::Kept) => shared.push_wakeups.notify_one(),
            #[cfg(feature = "chaos-bugs")]
            Ok(Lease::Lost) if crate::bugs::Bug::NoFencing.is_on() => {}
            Ok(Lease::Lost) => {
                tracing::warn!(node = %cluster.node(), "this node was silent for too long; it goes on under another id");
                shared.registry.all().iter().for_each(|live| live.tell_runner(Control::Lost));
                shared.members.listen(&shared, Topic::Node(cluster.node())).await;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed");
                pause /= 4;
            }
        }
        let left = shared.members.left().clone();
        drop(shared);
        select! {
            () = sleep(pause) => {}
            () = left.cancelled() => return,
        }
    }
}

/// Reads the mail when there is some, and looks at the store now and then for what no signal told.
async fn look_after(shared: Weak<Shared>) {
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
