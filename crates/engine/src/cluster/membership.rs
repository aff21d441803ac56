//! What this node needs to be one of several.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_model::TaskId;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::listen::Listeners;
use crate::{
    bus::{EventBus, Topic, Wake},
    store::LetterId,
};

/// How long it is remembered that a letter was taken. A look at the mail that was begun before that is over by then.
const REMEMBERED: Duration = Duration::from_mins(5);

pub(crate) struct Membership {
    bus: Option<Arc<dyn EventBus>>,
    pub(super) listeners: Listeners,
    taken: Mutex<HashMap<LetterId, Instant>>,
    mail: Arc<Notify>,
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
            taken: Mutex::default(),
            mail: Arc::default(),
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

    /// Notes whether this node knows that it lives; whether it did before. Who does not know must run nothing. Said before
    /// what runs is stopped, so that what begins meanwhile is either found then, or finds this.
    pub(super) fn live(&self, yes: bool) -> bool {
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

    /// Told when there may be mail.
    pub(super) fn mail(&self) -> Arc<Notify> {
        Arc::clone(&self.mail)
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

    /// Notes that a runner of this node takes a letter. Whether none has.
    pub(crate) fn take(&self, letter: &LetterId) -> bool {
        let mut taken = self.taken.lock();
        if taken.len() >= 1024 {
            taken.retain(|_, at| at.elapsed() < REMEMBERED);
        }
        taken.insert(letter.clone(), Instant::now()).is_none()
    }

    /// The letter was not taken after all.
    pub(crate) fn leave(&self, letter: &LetterId) {
        self.taken.lock().remove(letter);
    }
}
