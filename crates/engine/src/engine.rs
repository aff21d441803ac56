//! The engine: an agent, its card, its store, and the tasks that are live.

use std::{
    future::Future,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use nuncio_model::{AgentCard, Error, ErrorKind, Reply, Request, Scope, TaskId};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use crate::{
    agent::{Agent, DynAgent},
    capability,
    inbox::Control,
    limits::Limits,
    live::Live,
    op,
    push::PushGuard,
    registry::{Hold, Registry},
    store::{MemoryStore, TaskStore},
};

/// Runs one agent's tasks. Cheap to clone; all clones are the same engine.
///
/// It is a [`tower_service::Service`] of [`Request`] too, so layers around operations compose.
///
/// Dropping the last clone does not stop turns that run; [`Engine::shutdown`] does.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) agent: Arc<dyn DynAgent>,
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) card: Arc<AgentCard>,
    pub(crate) extended_card: Option<Arc<AgentCard>>,
    pub(crate) guard: Option<Arc<dyn PushGuard>>,
    pub(crate) limits: Limits,
    pub(crate) cancel_is_idempotent: bool,
    pub(crate) registry: Arc<Registry>,
    pub(crate) push_wakeups: Arc<Notify>,
    running: AtomicUsize,
    idle: Notify,
    draining: AtomicBool,
    abandoned: Mutex<Vec<(Scope, TaskId)>>,
}

/// What an engine is made of.
pub struct EngineBuilder {
    agent: Arc<dyn DynAgent>,
    store: Option<Arc<dyn TaskStore>>,
    card: AgentCard,
    extended_card: Option<AgentCard>,
    guard: Option<Arc<dyn PushGuard>>,
    limits: Limits,
    cancel_is_idempotent: bool,
}

impl EngineBuilder {
    /// Where tasks are kept; in memory by default.
    pub fn store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What the agent says of itself. Its capabilities and extensions bind the engine; the server fills in where the
    /// agent is reached. By default a card named `agent` that streams.
    pub fn card(mut self, card: AgentCard) -> Self {
        self.card = card;
        self
    }

    /// The card for authenticated callers.
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.extended_card = Some(card);
        self
    }

    /// What decides on webhooks. Without one none can be registered, whatever the card says.
    pub fn push_guard(mut self, guard: Arc<dyn PushGuard>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// What bounds the engine.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether canceling a task that is canceled already gives the task. By default it is `TaskNotCancelable`, as the
    /// error table of section 5.4 has it (contradiction C-8).
    pub fn cancel_is_idempotent(mut self, yes: bool) -> Self {
        self.cancel_is_idempotent = yes;
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        Engine(Arc::new(Shared {
            agent: self.agent,
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::default())),
            card: Arc::new(self.card),
            extended_card: self.extended_card.map(Arc::new),
            guard: self.guard,
            limits: self.limits,
            cancel_is_idempotent: self.cancel_is_idempotent,
            registry: Registry::new(),
            push_wakeups: Arc::default(),
            running: AtomicUsize::new(0),
            idle: Notify::new(),
            draining: AtomicBool::new(false),
            abandoned: Mutex::default(),
        }))
    }
}

impl Engine {
    /// An engine for this agent.
    pub fn builder(agent: impl Agent) -> EngineBuilder {
        let mut card = AgentCard::new("agent", "An agent.");
        card.capabilities.streaming = Some(true);
        EngineBuilder {
            agent: Arc::new(agent),
            store: None,
            card,
            extended_card: None,
            guard: None,
            limits: Limits::default(),
            cancel_is_idempotent: false,
        }
    }

    /// Calls an operation.
    ///
    /// # Errors
    ///
    /// As the specification says for the operation; `Unavailable` while the engine shuts down or its store cannot
    /// write; `ResourceExhausted` at a limit. Dropping the future changes nothing for a task that exists.
    pub async fn call(&self, request: Request) -> Result<Reply, Error> {
        capability::check(&self.0, &request)?;
        op::call(&self.0, request).await
    }

    /// The public card, as it was given.
    pub fn card(&self) -> &Arc<AgentCard> {
        &self.0.card
    }

    /// The card for authenticated callers, where there is one.
    pub fn extended_card(&self) -> Option<&Arc<AgentCard>> {
        self.0.extended_card.as_ref()
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn TaskStore> {
        &self.0.store
    }

    /// Told whenever pushes became due; for whatever delivers them from the store's outbox.
    pub fn push_wakeups(&self) -> &Arc<Notify> {
        &self.0.push_wakeups
    }

    /// The extensions that the client asked for and the card declares, in the card's order: those that are active, to be
    /// named in the response (EXT-3).
    pub fn active_extensions(&self, requested: &[Box<str>]) -> Vec<Box<str>> {
        capability::active_extensions(&self.0.card, requested)
    }

    /// How many turns are running.
    pub fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }

    /// Ends what a crash left running: turns are run again where the agent can resume, and fail otherwise. Call it once,
    /// before requests come.
    pub async fn recover(&self) -> Result<(), Error> {
        crate::recovery::recover(&self.0).await
    }

    /// Refuses new messages, waits up to `grace` for running turns, and cuts off the rest: those of an agent that can
    /// resume go on at the next start, the others fail. Then the store is closed.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.draining.store(true, Ordering::Release);
        if timeout(grace, self.0.rest()).await.is_err() {
            for live in self.0.registry.all() {
                let control = if self.0.agent.resumes() {
                    Control::Leave
                } else {
                    Control::Fail("the server was stopped before the agent was done".to_owned())
                };
                // One that came to rest meanwhile has no need of it.
                drop(live.tell_runner(control));
            }
            if timeout(Duration::from_secs(5), self.0.rest()).await.is_err() {
                tracing::error!(turns = self.running(), "turns did not stop");
            }
        }
        if let Err(error) = self.0.store.close().await {
            tracing::error!(error = &error as &dyn std::error::Error, "the store did not close");
        }
    }
}

impl tower_service::Service<Request> for Engine {
    type Response = Reply;
    type Error = Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let engine = self.clone();
        Box::pin(async move { Engine::call(&engine, request).await })
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("card", &self.0.card.name)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Runs something on its own, as long as there is a runtime to run it.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(future);
        }
    }

    /// Counts a turn that is about to run, if another may.
    pub(crate) fn turn_begins(&self) -> Result<(), Error> {
        if self.draining.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "the server is stopping"));
        }
        if self.running.fetch_add(1, Ordering::AcqRel) >= self.limits.running_turns {
            self.turn_ended();
            return Err(Error::new(ErrorKind::ResourceExhausted, "too many turns are running; try again later")
                .with_retry_after(Duration::from_secs(1)));
        }
        Ok(())
    }

    pub(crate) fn turn_ended(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }

    async fn rest(&self) {
        loop {
            let idle = self.idle.notified();
            if self.running.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// The task, live from now on. Tasks of other scopes are as if they were not there.
    pub(crate) async fn attach(&self, scope: &Scope, id: &TaskId) -> Result<Hold, Error> {
        let hold = self.registry.find_or_insert(scope, id);
        hold.loaded
            .get_or_try_init(|| async {
                match self.store.load(scope, id).await? {
                    Some(stored) => {
                        hold.fill(stored);
                        Ok(())
                    }
                    None => Err(Error::task_not_found(id.as_str())),
                }
            })
            .await?;
        if hold.lock().sequence == 0 {
            return Err(Error::task_not_found(id.as_str()));
        }
        Ok(hold)
    }

    /// Makes this node the owner of a task that rests, and takes in what the store knows of it. The caller has set
    /// `running`.
    pub(crate) async fn claim(&self, live: &Live) -> Result<u64, Error> {
        if let Some(epoch) = live.lock().epoch {
            return Ok(epoch);
        }
        let claimed = self.store.claim(&live.scope, &live.id).await?;
        let stored = claimed.ok_or_else(|| Error::task_not_found(live.id.as_str()))?;
        let epoch = stored.epoch;
        if live.lock().sequence != stored.sequence {
            live.fill(stored);
        }
        live.lock().epoch = Some(epoch);
        Ok(epoch)
    }

    /// Notes a task that the store could not be told the end of, and tries until it can.
    pub(crate) fn abandon(self: &Arc<Self>, scope: &Scope, id: &TaskId) {
        let mut abandoned = self.abandoned.lock();
        abandoned.push((scope.clone(), id.clone()));
        if abandoned.len() == 1 {
            Self::spawn(mend(Arc::downgrade(self)));
        }
    }
}

/// Fails abandoned tasks as soon as the store can write again.
async fn mend(shared: Weak<Shared>) {
    let mut next = Instant::now();
    loop {
        next += Duration::from_secs(1);
        tokio::time::sleep_until(next).await;
        let Some(shared) = shared.upgrade() else { return };
        let Some((scope, id)) = shared.abandoned.lock().first().cloned() else { return };
        if crate::recovery::settle(&shared, &scope, &id, "the task store failed while the agent was at work")
            .await
            .is_ok()
        {
            let mut abandoned = shared.abandoned.lock();
            abandoned.remove(0);
            if abandoned.is_empty() {
                return;
            }
            next = Instant::now() - Duration::from_secs(1);
        }
    }
}
