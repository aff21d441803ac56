//! The subscriptions of one node: what comes in for a topic goes to each of them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use nuncio_model::TaskId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::{BusError, Notice, Signal, Subscription, Topic, Wake, newest::Newest};

/// Tasks that a subscription may be behind with; after these it is told that some signals were lost.
const WAITING: usize = 4096;

/// The subscriptions of one node. Clones are the same.
#[derive(Clone, Default)]
pub struct Listeners(Arc<RwLock<Topics>>);

#[derive(Default)]
struct Topics {
    queues: HashMap<Topic, Vec<Arc<Queue>>>,
    is_closed: bool,
}

impl Listeners {
    /// Gives what came in to whoever listens to the topic. Never waits.
    pub fn deliver(&self, topic: Topic, notice: &Notice) {
        for queue in self.0.read().queues.get(&topic).into_iter().flatten() {
            match notice {
                Notice::Wake(wake) => queue.push(wake),
                Notice::Lost => queue.lose(),
            }
        }
    }

    /// Tells everybody that signals may have been lost.
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
        let queue = Arc::new(Queue { waiting: Mutex::new(Waiting::new()), notify: Notify::new() });
        topics.queues.entry(topic).or_default().push(queue.clone());
        Ok(Listening { topic, queue, listeners: self.clone(), left: None })
    }

    /// What is listened to.
    pub(super) fn topics(&self) -> HashSet<Topic> {
        self.0.read().queues.keys().copied().collect()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.read().is_closed
    }

    /// Ends all subscriptions, and takes no more.
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
    /// Told when the subscription is dropped.
    left: Option<Arc<Notify>>,
}

impl Listening {
    /// Tells somebody when it is dropped.
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
                Taken::Signal(signal) => return Some(signal),
                Taken::End => return None,
                Taken::Nothing => {}
            }
            // What comes between the look and the wait leaves a permit, as there is only this one who waits.
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

/// What a subscription has not read yet.
struct Queue {
    waiting: Mutex<Waiting>,
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

struct Waiting {
    wakes: Newest<TaskId>,
    has_lost: bool,
    is_closed: bool,
}

enum Taken {
    Signal(Signal),
    Nothing,
    End,
}

impl Waiting {
    fn new() -> Self {
        Self { wakes: Newest::new(WAITING), has_lost: false, is_closed: false }
    }

    /// Whoever has lost something looks at everything, so what waits need not be told.
    fn lose(&mut self) {
        self.wakes.clear();
        self.has_lost = true;
    }

    fn take(&mut self) -> Taken {
        if std::mem::take(&mut self.has_lost) {
            return Taken::Signal(Signal::Lost);
        }
        match self.wakes.pop() {
            Some((task, sequence)) => Taken::Signal(Signal::Wake(Wake { task, sequence })),
            None if self.is_closed => Taken::End,
            None => Taken::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_subscriptions_that_were_dropped() {
        let listeners = Listeners::default();
        let (first, second) = (listeners.subscribe(Topic::Tasks(1)).unwrap(), listeners.subscribe(Topic::Tasks(1)));
        drop(first);
        assert_eq!(listeners.topics().len(), 1);
        drop(second);
        assert!(listeners.topics().is_empty());
    }

    #[tokio::test]
    async fn who_has_lost_something_is_told_before_what_comes_next() {
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
