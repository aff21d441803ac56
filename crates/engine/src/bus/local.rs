//! A bus within one process, for engines that share a store there.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use super::{BusError, EventBus, Signal, Subscription, Topic, Wake};

/// Signals that wait for a slow subscription; after these it is told that some were lost.
const WAITING: usize = 1024;

/// Carries signals between the engines of one process. Its clones are one bus.
#[derive(Debug, Clone, Default)]
pub struct LocalBus(Arc<Mutex<HashMap<Topic, broadcast::Sender<Wake>>>>);

impl LocalBus {
    /// A bus that nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl EventBus for LocalBus {
    fn publish(&self, topic: Topic, wake: Wake) {
        let mut topics = self.0.lock();
        if topics.get(&topic).is_some_and(|topic| topic.send(wake).is_err()) {
            // Nobody listens any more.
            topics.remove(&topic);
        }
    }

    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError> {
        let mut topics = self.0.lock();
        let sender = topics.entry(topic).or_insert_with(|| broadcast::channel(WAITING).0);
        Ok(Box::new(Listening(sender.subscribe())))
    }

    async fn check(&self) -> Result<(), BusError> {
        Ok(())
    }

    async fn close(&self, _patience: Duration) {
        self.0.lock().clear();
    }
}

struct Listening(broadcast::Receiver<Wake>);

#[async_trait]
impl Subscription for Listening {
    async fn next(&mut self) -> Option<Signal> {
        match self.0.recv().await {
            Ok(wake) => Some(Signal::Wake(wake)),
            Err(RecvError::Lagged(_)) => Some(Signal::Lost),
            Err(RecvError::Closed) => None,
        }
    }
}
