//! Listening to the bus: one task for each topic that somebody here needs.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use nuncio_limit::{Backoff, Failures, Jitter};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use super::{Membership, follow};
use crate::{
    bus::{EventBus, Signal, Topic},
    shared::Shared,
};

/// The delays between attempts to subscribe to a topic.
const RESUBSCRIBE: Backoff =
    Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(2), jitter: Jitter::None };

/// After so many looks at which nobody needed a topic it is given up.
const IDLE: u32 = 30;

#[derive(Default)]
pub(crate) struct Listeners(Mutex<Topics>);

#[derive(Default)]
struct Topics {
    listeners: HashMap<Topic, Listener>,
    tasks: JoinSet<()>,
}

struct Listener {
    /// Whether the bus was asked, whatever it said.
    tried: watch::Receiver<bool>,
    task: AbortHandle,
    idle: u32,
}

impl Membership {
    /// Listens to a topic from the moment this returns on, where the bus can be reached. Where it cannot, it is asked
    /// again, and the store is looked at meanwhile.
    pub(crate) async fn listen(&self, shared: &Arc<Shared>, topic: Topic) {
        let Some(bus) = self.bus() else { return };
        let mut tried = {
            let mut topics = self.listeners.0.lock();
            let Topics { listeners, tasks } = &mut *topics;
            let listener = listeners.entry(topic).or_insert_with(|| {
                let (sender, tried) = watch::channel(false);
                let task = tasks.spawn(hear(Arc::downgrade(shared), Arc::clone(bus), topic, sender));
                Listener { tried, task, idle: 0 }
            });
            listener.idle = 0;
            listener.tried.clone()
        };
        // Its sender goes only when the bus is closed.
        drop(tried.wait_for(|tried| *tried).await);
    }
}

impl Listeners {
    /// Gives up on topics of tasks that nobody has needed for a while.
    pub(super) fn tidy(&self, is_needed: impl Fn(Topic) -> bool) {
        let mut topics = self.0.lock();
        topics.listeners.retain(|topic, listener| {
            listener.idle = if is_needed(*topic) { 0 } else { listener.idle + 1 };
            let stays = listener.idle < IDLE;
            if !stays {
                listener.task.abort();
            }
            stays
        });
        while topics.tasks.try_join_next().is_some() {}
    }
}

/// Hears what a topic has to say, until the bus is closed.
async fn hear(shared: Weak<Shared>, bus: Arc<dyn EventBus>, topic: Topic, tried: watch::Sender<bool>) {
    let mut failures = Failures::default();
    let mut is_late = false;
    loop {
        match bus.subscribe(topic).await {
            Ok(mut subscription) => {
                if is_late {
                    heard(&shared, topic, Signal::Lost);
                }
                tried.send_replace(true);
                while let Some(signal) = subscription.next().await {
                    heard(&shared, topic, signal);
                }
                return;
            }
            Err(error) => {
                if !is_late {
                    tracing::warn!(%topic, error = &error as &dyn std::error::Error, "the bus is not heard");
                }
                is_late = true;
                tried.send_replace(true);
                sleep(failures.next_delay(&RESUBSCRIBE)).await;
            }
        }
    }
}

fn heard(shared: &Weak<Shared>, topic: Topic, signal: Signal) {
    let Some(shared) = shared.upgrade() else { return };
    match (topic, signal) {
        (Topic::Node(_), Signal::Wake(_)) => shared.members.pending().notify_one(),
        (_, Signal::Lost) => shared.members.lost().notify_one(),
        (Topic::Tasks(_), Signal::Wake(wake)) => {
            for task_ref in shared.registry.find_all(&wake.task) {
                follow::hurry(&shared, task_ref, wake.sequence);
            }
        }
    }
}
