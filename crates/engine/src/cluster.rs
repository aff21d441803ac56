//! Several nodes on one store: this node keeps its lease, takes over the tasks of failed nodes, executes the commands of
//! other nodes, and follows the logs of tasks that run on other nodes.
//!
//! The store decides; the bus only reduces delays. Everything that a signal announces is also found by a poll of
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

/// Joins the cluster: this node keeps its lease until the engine stops.
pub(crate) fn join(shared: &Arc<Shared>) {
    if shared.store.cluster().is_none() || shared.members.join() {
        return;
    }
    Shared::spawn(lease::keep(Arc::downgrade(shared)));
    Shared::spawn(pending::look_after(Arc::downgrade(shared)));
    Shared::spawn(adopt::adopt(Arc::downgrade(shared)));
}
