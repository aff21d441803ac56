//! This node among others: it keeps its lease, adopts the tasks of nodes that are gone, reads its pending, and sees to it
//! that what is read here of tasks elsewhere is the newest.
//!
//! The store decides everything; the bus only makes it quick. Whatever a signal would have told is found by a look at
//! the store about once a second ([`Limits::poll_interval`](crate::Limits)).

mod adopt;
mod answer;
mod command;
mod follow;
mod forward;
mod lease;
mod listen;
mod membership;
mod pending;
mod remote_call;
mod seen;
mod statuses;
mod turn_lookup;

use std::sync::Arc;

pub(crate) use answer::{answer, report};
pub(crate) use command::Body;
pub(crate) use follow::{catch_up, note_rest, stay};
pub(crate) use forward::forward;
pub(crate) use membership::Membership;
pub(crate) use remote_call::RemoteCall;
pub(crate) use seen::CommandGuard;
pub(crate) use turn_lookup::look_up_turns;

use crate::shared::Shared;

/// Takes part: from now on this node keeps its lease, until the engine stops.
pub(crate) fn join(shared: &Arc<Shared>) {
    if shared.store.cluster().is_none() || shared.members.has_joined() {
        return;
    }
    Shared::spawn(lease::keep(Arc::downgrade(shared)));
    Shared::spawn(pending::look_after(Arc::downgrade(shared)));
    Shared::spawn(adopt::adopt(Arc::downgrade(shared)));
}
