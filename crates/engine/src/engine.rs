//! The engine: an agent, its card, its store, and the tasks that are live.

mod builder;

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

pub use builder::EngineBuilder;
use nuncio_model::{AgentCard, Backend, Caller, Calling, Error, Health, Request, backend::Checking};
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

/// How long turns that are cut off may take to stop.
const CUT_OFF: Duration = Duration::from_secs(5);

/// The longest time for an answer of the bus to a check.
const BUS_CHECK: Duration = Duration::from_secs(2);

/// Runs one agent's tasks. Cheap to clone; all clones are the same engine.
///
/// Dropping the last clone does not stop turns that run; [`Engine::shutdown`] does.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

impl Engine {
    /// An engine for this agent.
    pub fn builder(agent: impl Agent) -> EngineBuilder {
        EngineBuilder::new(Arc::new(agent))
    }

    /// Calls an operation.
    ///
    /// # Errors
    ///
    /// As the specification says for the operation; `Unavailable` while the engine shuts down or its store cannot
    /// write; `ResourceExhausted` at a limit; `InvalidParams` for an id that is longer than [`Limits::id_length`]
    /// and for data or metadata that nests deeper than [`Limits::nesting`]; `PayloadTooLarge` for a message with more
    /// JSON values than [`Limits::values`].
    /// Dropping the future changes nothing for a task that exists.
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

    /// The public card, as it was given.
    pub fn card(&self) -> &Arc<AgentCard> {
        &self.0.card
    }

    /// The card for authenticated callers, where there is one.
    pub fn extended_card(&self) -> Option<&Arc<AgentCard>> {
        self.0.extended_card.as_ref()
    }

    /// What bounds it.
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

    /// What wakes the other nodes, where there is something.
    pub fn bus(&self) -> Option<&Arc<dyn EventBus>> {
        self.0.members.bus()
    }

    /// Told whenever pushes became due; for whatever delivers them from the store's outbox.
    pub fn push_wakeups(&self) -> &Arc<Notify> {
        &self.0.push_wakeups
    }

    /// How many turns are running.
    pub fn running(&self) -> usize {
        self.0.turns.running()
    }

    /// How many bytes turns hold in memory, as far as they are counted ([`Limits::held_bytes`]).
    pub fn held_bytes(&self) -> usize {
        self.0.memory.count()
    }

    /// How many bytes are kept in memory for readers ([`Limits::kept_bytes`]).
    pub fn kept_bytes(&self) -> usize {
        self.0.reader_budget.bytes()
    }

    /// How many tasks are live: they run, somebody reads them, or an operation works on them. Others are in the store
    /// alone.
    pub fn live_tasks(&self) -> usize {
        self.0.registry.len()
    }

    /// How many tasks were found that were at work in the store while nobody here was at work on them, and that nobody
    /// had told of. They were settled; but each is a fault of the engine or of the store.
    pub fn zombies(&self) -> u64 {
        self.0.zombies.found()
    }

    /// Ends what a crash left running: turns are run again where the agent can resume, and fail otherwise. Call it
    /// once, before requests come. What cannot be settled now is tried again until it is.
    ///
    /// From then on this node looks now and then, about once a lease, whether all tasks that the store says it is at
    /// work on have a runner, and settles those that have none.
    ///
    /// Where several nodes share the store, this node takes part from then on: it keeps its lease, does the same for
    /// tasks of nodes that are gone, and answers what other nodes want of its tasks, until [`Engine::shutdown`].
    ///
    /// Housekeeping begins with it too, where there is some to do ([`EngineBuilder::housekeeping`]).
    ///
    /// # Errors
    ///
    /// That of the store, where it cannot tell what was left at work. A task that cannot be settled is none: it is in
    /// nobody's way.
    pub async fn recover(&self) -> Result<Recovered, Error> {
        cluster::join(&self.0);
        let recovered = recovery::recover(&self.0).await;
        recovery::watch(&self.0);
        housekeeping::begin(&self.0);
        recovered
    }

    /// Deletes tasks and all that belongs to them, whatever their state
    /// ([`TaskStore::erase`](crate::TaskStore::erase)). Those that run here are cut off, and whoever reads them is told
    /// that there is no such task. How many tasks.
    ///
    /// # Errors
    ///
    /// `Unavailable` when the store cannot write; a part of them may be gone then.
    pub async fn erase(&self, erase: &Erase) -> Result<usize, Error> {
        let erased = self.0.store.erase(erase).await;
        // Also where a part of them is gone. Whoever reads one is told at the next look at the latest.
        if let Err(error) = self.0.find_erased(erase).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "what was erased is not looked for yet");
        }
        Ok(erased?)
    }

    /// Refuses new messages and subscriptions, waits up to `grace` for running turns, and cuts off the rest: those of
    /// an agent that can resume go on at the next start, the others fail. Whoever waits or reads then is told that the
    /// server is stopping, and the store is closed.
    ///
    /// Beyond `grace` it takes up to 5 s where turns that are cut off do not end, as much where the bus does not, and
    /// what the store needs to write out.
    pub async fn shutdown(&self, grace: Duration) {
        let Shared { registry, turns, store, members, .. } = &*self.0;
        turns.drain();
        if timeout(grace, turns.rest()).await.is_err() {
            turns.stop();
            registry.all().iter().for_each(|live| self.0.cut_off(live));
            if timeout(CUT_OFF, turns.rest()).await.is_err() {
                tracing::error!(turns = turns.running(), "turns did not stop");
            }
        }
        registry.all().iter().for_each(|live| live.stop());
        members.left().cancel();
        if let Some(bus) = members.bus() {
            bus.close(CUT_OFF).await;
        }
        if let Err(error) = store.close().await {
            tracing::error!(error = &error as &dyn std::error::Error, "the store did not close");
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
            self.store().check().await?;
            let Some(bus) = self.bus() else { return Ok(Health::Ready) };
            let answer = timeout(BUS_CHECK, bus.check()).await;
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
