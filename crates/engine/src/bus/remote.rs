//! A bus between processes, over a broker.

mod broker;
mod driver;
mod state;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
pub use broker::{BoxError, Broker, Connection};
use driver::Driver;
use parking_lot::Mutex;
use state::{Link, State};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{BusError, EventBus, Listeners, Subscription, Topic, Wake, outgoing::Outgoing};

/// The timeout of each call of a broker.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// A bus over the connections of a [`Broker`].
///
/// - Published signals wait in a queue, which keeps the newest signal of each task. They are sent in groups; a group is sent
///   after the broker has accepted the group before. A group that may not have arrived is sent again. With more than 16,384
///   tasks in the queue, subscribers get [`Signal::Lost`](super::Signal::Lost).
/// - A connection that fails, or is silent for three seconds, is replaced after a random delay of up to two seconds. After
///   all topics are subscribed again, all subscriptions get `Lost`.
/// - Each subscription keeps the newest signal of up to 4,096 tasks; beyond that, the subscription gets `Lost`.
///
/// Dropping the bus ends its subscriptions and loses unsent signals; [`close`](EventBus::close) sends them.
pub struct RemoteBus {
    shared: Arc<RemoteShared>,
    driver: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// The state that the bus and the driver of its connections share.
struct RemoteShared {
    listeners: Listeners,
    outgoing: Outgoing,
    /// Notified when the set of subscribed topics changes.
    topics_changed: Arc<Notify>,
    state: watch::Sender<State>,
    closing: CancellationToken,
}

impl RemoteBus {
    /// Connects in the background, and reconnects when necessary. [`check`](EventBus::check) waits for the connection.
    ///
    /// # Panics
    ///
    /// If called outside a tokio runtime.
    pub fn start(broker: impl Broker) -> Self {
        let shared = Arc::new(RemoteShared {
            listeners: Listeners::default(),
            outgoing: Outgoing::new(),
            topics_changed: Arc::default(),
            state: watch::Sender::new(State::default()),
            closing: CancellationToken::new(),
        });
        let driver = tokio::spawn(Driver::new(broker, shared.clone()).run());
        Self { shared, driver: Mutex::new(Some(AbortOnDropHandle::new(driver))) }
    }

    /// Waits until the state is as wanted, or the bus is down.
    async fn wait(&self, is_wanted: impl Fn(&State) -> bool) -> Result<(), BusError> {
        let mut state = self.shared.state.subscribe();
        let decided = state.wait_for(|state| is_wanted(state) || matches!(state.link, Link::Down(_)));
        match timeout(CALL_TIMEOUT, decided).await {
            Ok(Ok(state)) => match &state.link {
                Link::Down(reason) => Err(BusError(Box::new(reason.clone()))),
                Link::Starting | Link::Up => Ok(()),
            },
            Ok(Err(_)) => Err(BusError::closed()),
            Err(late) => Err(BusError(late.into())),
        }
    }

    fn end(&self) {
        self.shared.listeners.close();
        self.driver.lock().take();
    }
}

#[async_trait]
impl EventBus for RemoteBus {
    fn publish(&self, topic: Topic, wake: Wake) {
        if !self.shared.closing.is_cancelled() {
            self.shared.outgoing.push(topic, wake);
        }
    }

    async fn subscribe(&self, topic: Topic) -> Result<Box<dyn Subscription>, BusError> {
        let listening = self.shared.listeners.subscribe(topic)?.with_left(self.shared.topics_changed.clone());
        self.shared.topics_changed.notify_one();
        self.wait(|state| state.topics.contains(&topic)).await?;
        Ok(Box::new(listening))
    }

    async fn check(&self) -> Result<(), BusError> {
        if self.shared.closing.is_cancelled() {
            return Err(BusError::closed());
        }
        self.wait(|state| matches!(state.link, Link::Up)).await
    }

    async fn close(&self, limit: Duration) {
        self.shared.closing.cancel();
        let driver = self.driver.lock().take();
        if let Some(driver) = driver {
            // If the driver is late, it is dropped, which ends it.
            let _ = timeout(limit, driver).await;
        }
        self.end();
    }
}

impl Drop for RemoteBus {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for RemoteBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteBus").field("link", &self.shared.state.borrow().link).finish_non_exhaustive()
    }
}
