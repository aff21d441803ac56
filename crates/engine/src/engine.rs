//! The engine: an agent, its card, its store, and the live tasks.

mod builder;

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

pub use builder::EngineBuilder;
use nuncio_model::{AgentCard, Backend, Caller, Calling, Error, ErrorKind, Health, Request, backend::Checking};
use tokio::{sync::Notify, time::timeout};

use crate::{
    agent::Agent,
    bus::EventBus,
    capability, cluster, housekeeping, ids,
    limits::Limits,
    nesting, op,
    recovery::{self, Recovered},
    shared::Shared,
    store::{Erase, TaskStore},
    values,
};

/// The time for turns to stop after they were cut off.
const CUT_OFF: Duration = Duration::from_secs(5);

/// The longest time for an answer of the store, and for an answer of the bus, to a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the tasks of one agent. Clones are cheap and share one engine.
///
/// Dropping the last clone does not stop running turns. Use [`Engine::shutdown`].
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

impl Engine {
    /// A builder of an engine for this agent.
    pub fn builder(agent: impl Agent) -> EngineBuilder {
        EngineBuilder::new(Arc::new(agent))
    }

    /// Calls an operation.
    ///
    /// # Errors
    ///
    /// The errors of the operation in the specification. In addition:
    /// - `Unavailable` while the engine shuts down or the store cannot write.
    /// - `ResourceExhausted` at a limit.
    /// - `InvalidParams` for an id that is longer than [`Limits::id_length`], and for data or metadata that nests
    ///   deeper than [`Limits::nesting`].
    /// - `PayloadTooLarge` for a message with more JSON values than [`Limits::values`].
    ///
    /// Dropping the future does not change a task that exists.
    pub fn call(&self, request: Request) -> Calling<'_> {
        match self.check(&request) {
            Ok(()) => op::call(&self.0, request),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn check(&self, request: &Request) -> Result<(), Error> {
        capability::check(&self.0, request)?;
        ids::check(request, &self.0.limits)?;
        nesting::check_call(&request.call, self.0.limits.nesting)?;
        values::check_call(&request.call, self.0.limits.values)
    }

    /// The public card.
    pub fn card(&self) -> &Arc<AgentCard> {
        &self.0.card
    }

    /// The card for authenticated callers, if there is one.
    pub fn extended_card(&self) -> Option<&Arc<AgentCard>> {
        self.0.extended_card.as_ref()
    }

    /// The limits of the engine.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn TaskStore> {
        &self.0.store
    }

    /// The bus that wakes the other nodes, if there is one.
    pub fn bus(&self) -> Option<&Arc<dyn EventBus>> {
        self.0.members.bus()
    }

    /// Is notified when a push is due. The deliverer of the outbox waits for the notification.
    pub fn push_wakeups(&self) -> &Arc<Notify> {
        &self.0.push_wakeups
    }

    /// The number of running turns.
    pub fn running(&self) -> usize {
        self.0.turns.running()
    }

    /// The counted memory of turns, in bytes ([`Limits::held_bytes`]).
    pub fn held_bytes(&self) -> usize {
        self.0.memory.count()
    }

    /// The memory for readers, in bytes ([`Limits::kept_bytes`]).
    pub fn kept_bytes(&self) -> usize {
        self.0.reader_budget.bytes()
    }

    /// The number of live tasks: tasks that run, are read, or are used by an operation. All other tasks are in the
    /// store only.
    pub fn live_tasks(&self) -> usize {
        self.0.registry.len()
    }

    /// The number of zombie tasks that were found: the store had them as running on this node, but they had no runner,
    /// and no component had reported them. Zombie tasks are settled. Each of them indicates a bug of the engine or of
    /// the store.
    pub fn zombies(&self) -> u64 {
        self.0.zombies.found()
    }

    /// Settles the tasks that a crash left running: their turns run again if the agent can resume, and the tasks fail
    /// otherwise. Call this method once, before the first request. Tasks that cannot be settled now are tried again in
    /// the background.
    ///
    /// From then on, about once per lease, this node compares the tasks that run here according to the store with its
    /// runners. A task without a runner is settled.
    ///
    /// If several nodes share the store, this node joins them until [`Engine::shutdown`]: it renews its lease, settles
    /// the tasks of failed nodes, and executes the commands of other nodes.
    ///
    /// Housekeeping also starts here, if it is configured ([`EngineBuilder::housekeeping`]).
    ///
    /// # Errors
    ///
    /// The error of the store if the store cannot list the tasks to settle. A task that cannot be settled is not an
    /// error.
    pub async fn recover(&self) -> Result<Recovered, Error> {
        cluster::join(&self.0);
        let recovered = recovery::recover(&self.0).await;
        recovery::watch(&self.0);
        housekeeping::begin(&self.0);
        recovered
    }

    /// Deletes tasks with all their data, in any state ([`TaskStore::erase`](crate::TaskStore::erase)). Turns on this
    /// node are cut off, and their readers get the error that the task does not exist. Returns the number of deleted
    /// tasks.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the store cannot write. Some of the tasks may be deleted then.
    pub async fn erase(&self, erase: &Erase) -> Result<usize, Error> {
        let erased = self.0.store.erase(erase).await;
        // Some tasks may be deleted even after an error. If this look fails, the next access finds the deletion.
        if let Err(error) = self.0.find_erased(erase).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "engine: cannot look for erased tasks in memory; the next access finds the deletion"
            );
        }
        Ok(erased?)
    }

    /// Refuses new messages and subscriptions, waits up to `grace` for running turns, and cuts off the remaining turns.
    /// If the agent can resume, these turns run again at the next start; otherwise their tasks fail. All waiting calls
    /// and readers get the error that the server is stopping. Then the store is closed.
    ///
    /// In addition to `grace`, this can take 5 s for turns that do not stop, 5 s for the bus, and the time that the
    /// store needs to flush.
    pub async fn shutdown(&self, grace: Duration) {
        let Shared { registry, turns, store, members, .. } = &*self.0;
        turns.drain();
        if timeout(grace, turns.rest()).await.is_err() {
            turns.stop();
            registry.all().iter().for_each(|live| self.0.cut_off(live));
            if timeout(CUT_OFF, turns.rest()).await.is_err() {
                tracing::error!(turns = turns.running(), "engine: turns did not stop in time");
            }
        }
        registry.all().iter().for_each(|live| live.stop());
        members.left().cancel();
        if let Some(bus) = members.bus() {
            bus.close(CUT_OFF).await;
        }
        if let Err(error) = store.close().await {
            tracing::error!(error = &error as &dyn std::error::Error, "engine: cannot close the store");
        }
    }
}

impl Caller for Engine {
    fn call(&self, request: Request) -> Calling<'_> {
        Engine::call(self, request)
    }
}

impl Backend for Engine {
    fn card(&self) -> Arc<AgentCard> {
        Arc::clone(Engine::card(self))
    }

    fn extended_card(&self) -> Option<Arc<AgentCard>> {
        Engine::extended_card(self).cloned()
    }

    fn resumes(&self) -> bool {
        true
    }

    fn nesting(&self) -> Option<usize> {
        Some(self.limits().nesting)
    }

    fn running(&self) -> usize {
        Engine::running(self)
    }

    /// The store must answer. Without its bus a node does all its work and finds changes of other nodes in the store.
    fn check(&self) -> Checking<'_> {
        Box::pin(async {
            let unanswered = |_| Error::new(ErrorKind::Unavailable, "the task store does not answer");
            timeout(CHECK_TIMEOUT, self.store().check()).await.map_err(unanswered)??;
            let Some(bus) = self.bus() else { return Ok(Health::Ready) };
            let answer = timeout(CHECK_TIMEOUT, bus.check()).await;
            Ok(if matches!(answer, Ok(Ok(()))) { Health::Ready } else { Health::Degraded("the bus cannot be reached") })
        })
    }

    fn shutdown(&self, grace: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Engine::shutdown(self, grace))
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
