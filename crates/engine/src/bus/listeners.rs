//! The subscriptions of one node, and the delivery of received signals to them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use nuncio_model::TaskId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::{BusError, Notice, Signal, Subscription, Topic, Wake, newest::Newest};

/// The maximum of tasks with unread signals; beyond that, the subscription gets `Lost`.
const WAITING: usize = 4096;

/// The subscriptions of one node. Clones share them.
#[derive(Clone, Default)]
pub struct Listeners(Arc<RwLock<Queues>>);

#[derive(Default)]
struct Queues {
    queues: HashMap<Topic, Vec<Arc<Queue>>>,
    is_closed: bool,
}

impl Listeners {
    /// Passes a received notice to the subscriptions of the topic, without waiting.
    pub fn deliver(&self, topic: Topic, notice: &Notice) {
        for queue in self.0.read().queues.get(&topic).into_iter().flatten() {
            match notice {
                Notice::Wake(wake) => queue.push(wake),
                Notice::Lost => queue.lose(),
            }
        }
    }

    /// Sends `Lost` to all subscriptions.
    pub fn lose(&self) {
        for queue in self.0.read().queues.values().flatten() {
            queue.lose();
        }
    }

    /// Adds a subscription.
    pub(super) fn subscribe(&self, topic: Topic) -> Result<Listening, BusError> {
        let mut topics = self.0.write();
        if topics.is_closed {
            return Err(BusError::closed());
        }
        let queue = Arc::new(Queue { waiting: Mutex::new(Unread::new()), notify: Notify::new() });
        topics.queues.entry(topic).or_default().push(queue.clone());
        Ok(Listening { topic, queue, listeners: self.clone(), left: None })
    }

    /// The topics with subscriptions.
    pub(super) fn topics(&self) -> HashSet<Topic> {
        self.0.read().queues.keys().copied().collect()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.read().is_closed
    }

    /// Ends all subscriptions and refuses new ones.
    pub(super) fn close(&self) {
        let mut topics = self.0.write();
        topics.is_closed = true;
        for queue in topics.queues.drain().flat_map(|(_, queues)| queues) {
            queue.close();
        }
    }

    fn leave(&self, topic: Topic, queue: &Arc<Queue>) {
        let mut topics = self.0.write();
        let Some(queues) = topics.queues.get_mut(&topic) else { return };
        queues.retain(|other| !Arc::ptr_eq(other, queue));
        if queues.is_empty() {
            topics.queues.remove(&topic);
        }
    }
}

/// A subscription.
pub(super) struct Listening {
    topic: Topic,
    queue: Arc<Queue>,
    listeners: Listeners,
    /// Notified when the subscription is dropped.
    left: Option<Arc<Notify>>,
}

impl Listening {
    /// Sets the notification for the drop of the subscription.
    pub(super) fn with_left(mut self, left: Arc<Notify>) -> Self {
        self.left = Some(left);
        self
    }
}

#[async_trait]
impl Subscription for Listening {
    async fn next(&mut self) -> Option<Signal> {
        loop {
            match self.queue.waiting.lock().take() {
                NextSignal::Signal(signal) => return Some(signal),
                NextSignal::End => return None,
                NextSignal::Nothing => {}
            }
            // A signal that arrives before the wait leaves a permit, because there is only one waiter.
            self.queue.notify.notified().await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listeners.leave(self.topic, &self.queue);
        if let Some(left) = &self.left {
            left.notify_one();
        }
    }
}

/// The unread signals of a subscription.
struct Queue {
    waiting: Mutex<Unread>,
    notify: Notify,
}

impl Queue {
    fn push(&self, wake: &Wake) {
        let mut waiting = self.waiting.lock();
        if waiting.wakes.push(wake.task.clone(), wake.sequence).is_err() {
            waiting.lose();
        }
        drop(waiting);
        self.notify.notify_one();
    }

    fn lose(&self) {
        self.waiting.lock().lose();
        self.notify.notify_one();
    }

    fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.notify.notify_one();
    }
}

struct Unread {
    wakes: Newest<TaskId>,
    has_lost: bool,
    is_closed: bool,
}

enum NextSignal {
    Signal(Signal),
    Nothing,
    End,
}

impl Unread {
    fn new() -> Self {
        Self { wakes: Newest::new(WAITING), has_lost: false, is_closed: false }
    }

    /// After `Lost` the subscriber polls the store, so waiting signals are not needed.
    fn lose(&mut self) {
        self.wakes.clear();
        self.has_lost = true;
    }

    fn take(&mut self) -> NextSignal {
        if std::mem::take(&mut self.has_lost) {
            return NextSignal::Signal(Signal::Lost);
        }
        match self.wakes.pop() {
            Some((task, sequence)) => NextSignal::Signal(Signal::Wake(Wake { task, sequence })),
            None if self.is_closed => NextSignal::End,
            None => NextSignal::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_subscriptions_are_removed() {
        let listeners = Listeners::default();
        let (first, second) = (listeners.subscribe(Topic::Tasks(1)).unwrap(), listeners.subscribe(Topic::Tasks(1)));
        drop(first);
        assert_eq!(listeners.topics().len(), 1);
        drop(second);
        assert!(listeners.topics().is_empty());
    }

    #[tokio::test]
    async fn lost_signals_are_reported_before_later_signals() {
        let listeners = Listeners::default();
        let mut listening = listeners.subscribe(Topic::Tasks(1)).unwrap();
        let wake = |task: &str| Wake { task: task.into(), sequence: 1 };
        listeners.deliver(Topic::Tasks(1), &Notice::Wake(wake("before")));
        listeners.deliver(Topic::Tasks(1), &Notice::Lost);
        listeners.deliver(Topic::Tasks(1), &Notice::Wake(wake("after")));
        assert_eq!(listening.next().await, Some(Signal::Lost));
        assert_eq!(listening.next().await, Some(Signal::Wake(wake("after"))));
    }
}
