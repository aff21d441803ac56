//! Subscriptions to the bus: one background task per topic that this node needs.

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

/// The number of polls after which an unneeded topic is unsubscribed.
const IDLE: u32 = 30;

#[derive(Default)]
pub(crate) struct TopicListeners(Mutex<TopicTasks>);

#[derive(Default)]
struct TopicTasks {
    listeners: HashMap<Topic, Listener>,
    tasks: JoinSet<()>,
}

struct Listener {
    /// Whether the first attempt to subscribe has ended, with or without success.
    tried: watch::Receiver<bool>,
    task: AbortHandle,
    idle: u32,
}

impl Membership {
    /// Subscribes to a topic. When this returns, the subscription is active if the bus is reachable. Otherwise the attempt
    /// is repeated in the background, and the store is polled meanwhile.
    pub(crate) async fn listen(&self, shared: &Arc<Shared>, topic: Topic) {
        let Some(bus) = self.bus() else { return };
        let mut tried = {
            let mut topics = self.listeners.0.lock();
            let TopicTasks { listeners, tasks } = &mut *topics;
            let listener = listeners.entry(topic).or_insert_with(|| {
                let (sender, tried) = watch::channel(false);
                let task = tasks.spawn(receive(Arc::downgrade(shared), Arc::clone(bus), topic, sender));
                Listener { tried, task, idle: 0 }
            });
            listener.idle = 0;
            listener.tried.clone()
        };
        // The sender is dropped only when the bus is closed.
        drop(tried.wait_for(|tried| *tried).await);
    }
}

impl TopicListeners {
    /// Unsubscribes from topics that were not needed for a while.
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

/// Handles the signals of a topic until the bus is closed.
async fn receive(shared: Weak<Shared>, bus: Arc<dyn EventBus>, topic: Topic, tried: watch::Sender<bool>) {
    let mut failures = Failures::default();
    let mut is_late = false;
    loop {
        match bus.subscribe(topic).await {
            Ok(mut subscription) => {
                if is_late {
                    handle(&shared, topic, Signal::Lost);
                }
                tried.send_replace(true);
                while let Some(signal) = subscription.next().await {
                    handle(&shared, topic, signal);
                }
                return;
            }
            Err(error) => {
                if !is_late {
                    tracing::warn!(%topic, error = &error as &dyn std::error::Error, "cluster: cannot subscribe to the bus; changes of other nodes arrive late");
                }
                is_late = true;
                tried.send_replace(true);
                sleep(failures.next_delay(&RESUBSCRIBE)).await;
            }
        }
    }
}

fn handle(shared: &Weak<Shared>, topic: Topic, signal: Signal) {
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
