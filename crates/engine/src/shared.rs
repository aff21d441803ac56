//! The state that all parts of an engine share.

use std::{
    future::Future,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nuncio_limit::{Gauge, Permit, not_now};
use nuncio_model::{AgentCard, Error, Principal, Scope, TaskId, op::SendMessageRequest};
use tokio::{select, sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::DynAgent,
    bus::Topic,
    cluster::{Membership, catch_up},
    early::EarlyWebhooks,
    housekeeping::BackgroundHousekeeping,
    idempotency::Idempotency,
    in_flight::InFlight,
    inbox::Control,
    limits::Limits,
    live::LiveTask,
    push::{self, PushGuard},
    reader::LogReader,
    reader_budget::ReaderBudget,
    recovery::{RecoveryQueue, Zombies},
    registry::{Registry, TaskRef},
    size,
    store::TaskStore,
    turns::Turns,
};

pub(crate) struct Shared {
    pub(crate) agent: Arc<dyn DynAgent>,
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) card: Arc<AgentCard>,
    pub(crate) extended_card: Option<Arc<AgentCard>>,
    pub(crate) guard: Option<Arc<dyn PushGuard>>,
    pub(crate) limits: Limits,
    pub(crate) cancel_is_idempotent: bool,
    pub(crate) idempotency: Idempotency,
    /// Messages that may create a task; empty if the engine does not deduplicate messages.
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) push_wakeups: Arc<Notify>,
    pub(crate) turns: Turns,
    /// Messages that wait behind running turns.
    pub(crate) queued: Arc<Gauge>,
    /// The memory of messages and of tasks at work, in bytes.
    pub(crate) memory: Arc<Gauge>,
    /// The memory for readers.
    pub(crate) reader_budget: Arc<ReaderBudget>,
    pub(crate) recovery_queue: RecoveryQueue,
    pub(crate) zombies: Zombies,
    pub(crate) members: Membership,
    pub(crate) housekeeping: BackgroundHousekeeping,
    /// Webhooks of future tasks.
    pub(crate) early: EarlyWebhooks,
    pub(crate) additions: push::Additions,
    /// The number of erasures that have changed the store.
    pub(crate) erasures: AtomicU64,
    /// Whether the engine adopts the tasks of an agent of another name.
    pub(crate) adopts: bool,
    /// The name of the agent in the store; `None` for the card's name.
    pub(crate) store_owner: Option<String>,
}

/// A smaller message is not counted: its turn takes more memory.
const SMALL: usize = 1024;

impl Shared {
    /// Spawns a future if there is a runtime.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(future);
        }
    }

    /// Counts a new turn of this caller, or fails.
    pub(crate) fn turn_begins(&self, scope: &Scope) -> Result<(), Error> {
        self.may_work()?;
        self.turns.begin(&scope.principal, Some(&self.limits))
    }

    /// The engine after a pause; `None` if the engine has ended, or stops meanwhile.
    pub(crate) async fn after(shared: &Weak<Self>, left: &CancellationToken, pause: Duration) -> Option<Arc<Self>> {
        select! {
            () = sleep(pause) => shared.upgrade(),
            () = left.cancelled() => None,
        }
    }

    /// Reserves the memory of a request until its turn is over. Fails at the limit.
    pub(crate) fn reserve(&self, principal: &Principal, request: &SendMessageRequest) -> Result<Option<Permit>, Error> {
        let bytes = size::of_request(request);
        (bytes >= SMALL).then(|| self.memory.take(principal, bytes)).transpose()
    }

    /// Fails if this node has no valid lease. The node must not accept work then.
    pub(crate) fn may_work(&self) -> Result<(), Error> {
        if self.members.is_live() {
            return Ok(());
        }
        Err(not_now("this node has lost touch with the task store; try again later"))
    }

    /// Fails if no turn of this caller can begin now.
    pub(crate) fn turn_may_begin(&self, scope: &Scope) -> Result<(), Error> {
        self.turn_begins(scope).map(|()| self.turns.end(&scope.principal))
    }

    /// The task, live from now on, in the state of the store. A task of another scope is not found.
    pub(crate) async fn attach(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Result<TaskRef, Error> {
        let task_ref = self.registry.find_or_insert(scope, id);
        let is_shared = self.store.cluster().is_some();
        if is_shared {
            // Listen before the store is read, so that no signal is missed.
            Box::pin(self.members.listen(self, Topic::of(id))).await;
        }
        let mut is_known = true;
        task_ref
            .loaded
            .get_or_try_init(|| async {
                is_known = false;
                let erasures = self.erasures.load(Ordering::SeqCst);
                let stored = self.store.load(scope, id).await?.ok_or_else(|| Error::task_not_found(id.as_str()))?;
                task_ref.fill(stored);
                // An erasure finds the task by what was just filled in, or is found here.
                let is_there =
                    erasures == self.erasures.load(Ordering::SeqCst) || self.is_there(task_ref.live()).await?;
                if is_there { Ok(()) } else { Err(Error::task_not_found(id.as_str())) }
            })
            .await?;
        if task_ref.is_evicted() {
            let stored = self.store.load(scope, id).await?.ok_or_else(|| Error::task_not_found(id.as_str()))?;
            task_ref.restore(stored.task, &self.memory);
        }
        let may_have_more = is_shared && (is_known || std::mem::take(&mut task_ref.lock().has_missed));
        let is_there = !may_have_more || Box::pin(catch_up(self, &task_ref)).await?;
        let is_begun = task_ref.lock().sequence > 0 || Box::pin(self.begun(&task_ref)).await?;
        if is_there && is_begun { Ok(task_ref) } else { Err(Error::task_not_found(id.as_str())) }
    }

    /// If this node is writing the task, waits until the records of the store are published here.
    pub(crate) async fn keep_abreast(&self, task_ref: &TaskRef) -> Result<(), Error> {
        if !task_ref.lock().is_committing {
            return Ok(());
        }
        let stored = self.store.sequences(&[(task_ref.scope.clone(), task_ref.id.clone())]).await?;
        if let Some(Some(sequence)) = stored.first() {
            let (reader, ..) = LogReader::from_now(task_ref.clone());
            reader.reaches(*sequence).await;
        }
        Ok(())
    }

    /// Waits for a task that is being created here, if the store has it already and another caller may have read it.
    /// Returns whether the task exists.
    async fn begun(&self, task_ref: &TaskRef) -> Result<bool, Error> {
        if self.store.load(&task_ref.scope, &task_ref.id).await?.is_none() {
            return Ok(false);
        }
        LogReader::from_start(task_ref.clone()).begun().await?;
        Ok(task_ref.lock().sequence > 0)
    }

    /// Adds a new task to the registry, so that a stop of the engine or the end of the lease can cut it off. A
    /// concurrent stop finds the task in the registry, or the stop is found here.
    pub(crate) fn register(&self, live: &Arc<LiveTask>) {
        self.registry.insert(live);
        if !self.members.is_live() {
            live.tell_runner(Control::Lost);
        }
        if self.turns.are_stopping() {
            self.cut_off(live);
        }
    }

    /// Cuts off a running turn because the engine stops.
    pub(crate) fn cut_off(&self, live: &LiveTask) {
        live.tell_runner(if self.agent.resumes() {
            Control::Leave
        } else {
            Control::Fail("the server was stopped before the agent was done")
        });
    }
}
