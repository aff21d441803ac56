//! A bus between processes, over whatever carries its signals.

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

/// How long a broker may take for anything that it is asked for.
const PATIENCE: Duration = Duration::from_secs(3);

/// A bus over the connections of a [`Broker`].
///
/// - What is published waits in a queue that is bounded by tasks, the newest signal of each, and goes out in groups,
///   one after the other was taken by the broker. A group that may not have arrived is sent again. With more than
///   16,384 tasks in the queue, those who listen are told [`Signal::Lost`](super::Signal::Lost).
/// - A connection that fails, or is silent for three seconds, is replaced, after pauses of up to two seconds that are
///   spread by chance. Once all topics are listened to again, all subscriptions are told that signals were lost.
/// - Each subscription keeps the newest signal of up to 4,096 tasks; one that is further behind has lost signals.
///
/// Dropping it ends its subscriptions and loses what was not sent; [`close`](EventBus::close) sends it.
pub struct RemoteBus {
    shared: Arc<Shared>,
    driver: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// What the bus and the task that drives its connections both have.
struct Shared {
    listeners: Listeners,
    outgoing: Outgoing,
    /// Told when topics are listened to that were not, or the other way round.
    topics_changed: Arc<Notify>,
    state: watch::Sender<State>,
    closing: CancellationToken,
}

impl RemoteBus {
    /// Connects, now and whenever it has to. Does not wait for it: [`check`](EventBus::check) does.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(broker: impl Broker) -> Self {
        let shared = Arc::new(Shared {
            listeners: Listeners::default(),
            outgoing: Outgoing::new(),
            topics_changed: Arc::default(),
            state: watch::Sender::new(State::default()),
            closing: CancellationToken::new(),
        });
        let driver = tokio::spawn(Driver::new(broker, shared.clone()).run());
        Self { shared, driver: Mutex::new(Some(AbortOnDropHandle::new(driver))) }
    }

    /// Waits until the state is as wanted, or the bus is known to be out of reach.
    async fn wait(&self, is_wanted: impl Fn(&State) -> bool) -> Result<(), BusError> {
        let mut state = self.shared.state.subscribe();
        let decided = state.wait_for(|state| is_wanted(state) || matches!(state.link, Link::Down(_)));
        match timeout(PATIENCE, decided).await {
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
            // Dropped when it is late, and ends with that.
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
