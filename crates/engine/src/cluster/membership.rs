//! The state of this node as a member of the cluster.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use nuncio_model::TaskId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    listen::TopicListeners,
    seen::{CommandGuard, SeenCommands},
};
use crate::{
    bus::{EventBus, Topic, Wake},
    store::CommandId,
};

pub(crate) struct Membership {
    bus: Option<Arc<dyn EventBus>>,
    pub(super) listeners: TopicListeners,
    seen: SeenCommands,
    pending: Arc<Notify>,
    lost: Arc<Notify>,
    joined: AtomicBool,
    live: AtomicBool,
    left: CancellationToken,
}

impl Membership {
    pub(crate) fn new(bus: Option<Arc<dyn EventBus>>) -> Self {
        Self {
            bus,
            listeners: TopicListeners::default(),
            seen: SeenCommands::default(),
            pending: Arc::default(),
            lost: Arc::default(),
            joined: AtomicBool::new(false),
            live: AtomicBool::new(true),
            left: CancellationToken::new(),
        }
    }

    /// Marks the node as joined. Returns whether the node had joined before.
    pub(super) fn join(&self) -> bool {
        self.joined.swap(true, Ordering::Relaxed)
    }

    /// Sets whether the lease of this node is valid; returns the previous value. A node without a valid lease must not run
    /// turns. Set this before the running turns are stopped: a turn that begins meanwhile is stopped too, or sees the value.
    pub(super) fn set_live(&self, yes: bool) -> bool {
        self.live.swap(yes, Ordering::SeqCst)
    }

    /// Whether the lease of this node is valid; `true` also before the first lease.
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Ordering::SeqCst)
    }

    pub(crate) fn bus(&self) -> Option<&Arc<dyn EventBus>> {
        self.bus.as_ref()
    }

    /// Cancelled when the engine stops.
    pub(crate) fn left(&self) -> &CancellationToken {
        &self.left
    }

    /// Notified when there may be pending commands.
    pub(super) fn pending(&self) -> Arc<Notify> {
        Arc::clone(&self.pending)
    }

    /// Notified when signals were lost.
    pub(super) fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }

    /// Signals a change of a task to the other nodes.
    pub(crate) fn changed(&self, task: &TaskId, sequence: u64) {
        self.publish(Topic::of(task), task, sequence);
    }

    /// Publishes a signal about a task.
    pub(crate) fn publish(&self, topic: Topic, task: &TaskId, sequence: u64) {
        if let Some(bus) = &self.bus {
            bus.publish(topic, Wake { task: task.clone(), sequence });
        }
    }

    /// Reserves a command for a runner of this node. `None` if a runner processes the command or has processed it.
    pub(crate) fn take(&self, command: &CommandId) -> Option<CommandGuard> {
        self.seen.take(command)
    }
}
