//! What an engine is made of.

use std::sync::Arc;

use nuncio_limit::{Gauge, Most, Quota};
use nuncio_model::{AgentCard, ErrorKind};

use super::Engine;
use crate::{
    agent::DynAgent,
    bus::EventBus,
    cluster::Membership,
    early::EarlyWebhooks,
    housekeeping::BackgroundHousekeeping,
    housekeeping::Housekeeping,
    idempotency::Idempotency,
    in_flight::InFlight,
    limits::Limits,
    push::PushGuard,
    reader_budget::ReaderBudget,
    recovery::{RecoveryQueue, Zombies},
    registry::Registry,
    shared::Shared,
    store::{MemoryStore, TaskStore},
    turns::Turns,
};

/// What an engine is made of.
pub struct EngineBuilder {
    agent: Arc<dyn DynAgent>,
    store: Option<Arc<dyn TaskStore>>,
    card: AgentCard,
    extended_card: Option<AgentCard>,
    guard: Option<Arc<dyn PushGuard>>,
    limits: Limits,
    cancel_is_idempotent: bool,
    idempotency: Idempotency,
    bus: Option<Arc<dyn EventBus>>,
    housekeeping: Housekeeping,
    adopts: bool,
    store_owner: Option<String>,
}

impl EngineBuilder {
    pub(super) fn new(agent: Arc<dyn DynAgent>) -> Self {
        Self {
            agent,
            store: None,
            card: AgentCard::new("agent", "An agent."),
            extended_card: None,
            guard: None,
            limits: Limits::default(),
            cancel_is_idempotent: false,
            idempotency: Idempotency::Off,
            bus: None,
            housekeeping: Housekeeping::default(),
            adopts: false,
            store_owner: None,
        }
    }

    /// Where tasks are kept; in memory by default.
    pub fn store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What wakes the other nodes that share the store. Without one they look at the store about once a second
    /// ([`Limits::poll_interval`]). Of no use where the store has one node. The engine closes it when it shuts down, so it is
    /// for this engine alone.
    pub fn bus(mut self, bus: Arc<dyn EventBus>) -> Self {
        self.bus = Some(bus);
        self
    }

    /// What the agent says of itself. Its extensions bind the engine; the server fills in where the agent is reached. By
    /// default a card named `agent`.
    ///
    /// The engine fills in each capability that the card leaves open: it streams; it pushes if there is a
    /// [guard](Self::push_guard); it has an extended card if [one](Self::extended_card) is given. A capability that the
    /// card sets to `false` is turned off. A signed card stands as it is.
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

    /// What becomes of tasks that nobody wants any more; by default nothing. It is seen to from [`Engine::recover`] on.
    pub fn housekeeping(mut self, housekeeping: Housekeeping) -> Self {
        self.housekeeping = housekeeping;
        self
    }

    /// Whether [`Engine::recover`] takes over the tasks of an agent of another name that the store holds: after the
    /// agent was renamed, for example. By default it refuses, as the tasks that a crash left would be run by an agent that
    /// they were not meant for.
    pub fn adopt(mut self, yes: bool) -> Self {
        self.adopts = yes;
        self
    }

    /// The name under which the store keeps the agent; by default the name in the card. Two agents of one card's name that
    /// must not run each other's tasks need different names here.
    pub fn store_owner(mut self, name: impl Into<String>) -> Self {
        self.store_owner = Some(name.into());
        self
    }

    /// Whether canceling a task that is canceled already gives the task. By default it is `TaskNotCancelable`, as the
    /// error table of section 5.4 has it (contradiction C-8).
    pub fn cancel_is_idempotent(mut self, yes: bool) -> Self {
        self.cancel_is_idempotent = yes;
        self
    }

    /// Whether a message that is sent again is known by its id. By default it is not. The cards say so where it is.
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// The engine.
    pub fn build(mut self) -> Engine {
        let (pushes, extends) = (self.guard.is_some(), self.extended_card.is_some());
        for card in [Some(&mut self.card), self.extended_card.as_mut()].into_iter().flatten() {
            fill_in(card, pushes, extends);
        }
        self.idempotency.declare(&mut self.card);
        if let Some(card) = &mut self.extended_card {
            self.idempotency.declare(card);
        }
        let queued = Gauge::new(Quota {
            what: "messages wait for their turn",
            in_all: Most::new("queued_in_all", self.limits.queued_in_all),
            per_caller: Most::new("queued_per_caller", self.limits.queued_per_caller),
            kind: ErrorKind::ResourceExhausted,
        });
        let memory = Gauge::new(Quota {
            what: "bytes are held by turns",
            in_all: Most::new("held_bytes", self.limits.held_bytes),
            per_caller: Most::new("held_bytes_per_caller", self.limits.held_bytes_per_caller),
            kind: ErrorKind::ResourceExhausted,
        });
        let reader_budget = ReaderBudget::new(self.limits.kept_bytes);
        Engine(Arc::new(Shared {
            agent: self.agent,
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::default())),
            card: Arc::new(self.card),
            extended_card: self.extended_card.map(Arc::new),
            guard: self.guard,
            limits: self.limits,
            cancel_is_idempotent: self.cancel_is_idempotent,
            idempotency: self.idempotency,
            in_flight: Arc::<InFlight>::default(),
            registry: Registry::new(),
            push_wakeups: Arc::default(),
            turns: Turns::default(),
            queued,
            memory,
            reader_budget,
            recovery_queue: RecoveryQueue::default(),
            zombies: Zombies::default(),
            members: Membership::new(self.bus),
            housekeeping: BackgroundHousekeeping::new(self.housekeeping),
            early: EarlyWebhooks::default(),
            adopts: self.adopts,
            store_owner: self.store_owner,
        }))
    }
}

/// Sets the capabilities that a card leaves open and the engine has.
fn fill_in(card: &mut AgentCard, pushes: bool, extends: bool) {
    if !card.signatures.is_empty() {
        return;
    }
    let capabilities = &mut card.capabilities;
    capabilities.streaming.get_or_insert(true);
    if pushes {
        capabilities.push_notifications.get_or_insert(true);
    }
    if extends {
        capabilities.extended_agent_card.get_or_insert(true);
    }
}
