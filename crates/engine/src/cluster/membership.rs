//! What this node needs to be one of several.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use nuncio_model::TaskId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    listen::Listeners,
    seen::{CommandGuard, SeenCommands},
};
use crate::{
    bus::{EventBus, Topic, Wake},
    store::CommandId,
};

pub(crate) struct Membership {
    bus: Option<Arc<dyn EventBus>>,
    pub(super) listeners: Listeners,
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
            listeners: Listeners::default(),
            seen: SeenCommands::default(),
            pending: Arc::default(),
            lost: Arc::default(),
            joined: AtomicBool::new(false),
            live: AtomicBool::new(true),
            left: CancellationToken::new(),
        }
    }

    /// Whether it had joined already; it has now.
    pub(super) fn has_joined(&self) -> bool {
        self.joined.swap(true, Ordering::Relaxed)
    }

    /// Notes whether this node knows that it lives; whether it did before. Who does not know must run nothing. Said
    /// before what runs is stopped, so that what begins meanwhile is either found then, or finds this.
    pub(super) fn set_live(&self, yes: bool) -> bool {
        self.live.swap(yes, Ordering::SeqCst)
    }

    /// Whether this node knows that it lives, as far as it ever had a lease.
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

    /// Told when there may be pending commands.
    pub(super) fn pending(&self) -> Arc<Notify> {
        Arc::clone(&self.pending)
    }

    /// Told when signals were lost.
    pub(super) fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }

    /// Tells the other nodes that a task has changed.
    pub(crate) fn changed(&self, task: &TaskId, sequence: u64) {
        self.publish(Topic::of(task), task, sequence);
    }

    /// Tells others something of a task.
    pub(crate) fn publish(&self, topic: Topic, task: &TaskId, sequence: u64) {
        if let Some(bus) = &self.bus {
            bus.publish(topic, Wake { task: task.clone(), sequence });
        }
    }

    /// Takes a command for a runner of this node, unless one has it, or had it lately.
    pub(crate) fn take(&self, command: &CommandId) -> Option<CommandGuard> {
        self.seen.take(command)
    }
}
