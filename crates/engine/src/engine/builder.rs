//! Builds an engine.

use std::sync::{Arc, atomic::AtomicU64};

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
    push::{self, PushGuard},
    reader_budget::ReaderBudget,
    recovery::{RecoveryQueue, Zombies},
    registry::Registry,
    shared::Shared,
    store::{MemoryStore, TaskStore},
    turns::Turns,
};

/// The parts and settings of an engine.
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

    /// Sets the store of tasks. The default store is in memory.
    pub fn store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the bus that wakes the other nodes of a shared store. Without a bus, nodes poll the store about once a
    /// second ([`Limits::poll_interval`]). A store with one node does not need a bus. The engine closes the bus at
    /// shutdown, so the bus must belong to this engine alone.
    pub fn bus(mut self, bus: Arc<dyn EventBus>) -> Self {
        self.bus = Some(bus);
        self
    }

    /// Sets the card of the agent. The extensions of the card apply to the engine, and the server fills in the
    /// addresses. The default is a card with the name `agent`.
    ///
    /// The engine sets capabilities that the card leaves open: streaming; push notifications if there is a
    /// [guard](Self::push_guard); the extended card if there is [one](Self::extended_card). A capability that the card
    /// sets to `false` is turned off. A signed card is not changed.
    pub fn card(mut self, card: AgentCard) -> Self {
        self.card = card;
        self
    }

    /// Sets the card for authenticated callers.
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.extended_card = Some(card);
        self
    }

    /// Sets the guard that accepts or refuses webhooks. Without a guard, no webhook can be registered, whatever the
    /// card says.
    pub fn push_guard(mut self, guard: Arc<dyn PushGuard>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Sets the limits of the engine.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the deletion and expiry of old tasks. The default deletes nothing. Housekeeping starts with
    /// [`Engine::recover`].
    pub fn housekeeping(mut self, housekeeping: Housekeeping) -> Self {
        self.housekeeping = housekeeping;
        self
    }

    /// Whether [`Engine::recover`] adopts the tasks of an agent of another name in the store, for example after a new
    /// name for the agent. By default `recover` refuses, because this agent would otherwise run the tasks of another
    /// agent.
    pub fn adopt(mut self, yes: bool) -> Self {
        self.adopts = yes;
        self
    }

    /// Sets the name of the agent in the store. The default is the name in the card. Two agents with the same card name
    /// need different names here, so that they do not run each other's tasks.
    pub fn store_owner(mut self, name: impl Into<String>) -> Self {
        self.store_owner = Some(name.into());
        self
    }

    /// Whether canceling a canceled task returns the task. The default is the error `TaskNotCancelable`, as in section
    /// 5.4 "Error Code Mappings". Section 3.1.5 "Cancel Task" allows both.
    pub fn cancel_is_idempotent(mut self, yes: bool) -> Self {
        self.cancel_is_idempotent = yes;
        self
    }

    /// Whether the engine deduplicates messages by their ids. The default is no. If yes, the cards declare the
    /// extension.
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// Builds the engine.
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
            additions: push::Additions::default(),
            erasures: AtomicU64::new(0),
            adopts: self.adopts,
            store_owner: self.store_owner,
        }))
    }
}

/// Sets the capabilities that the card leaves open and the engine has.
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
