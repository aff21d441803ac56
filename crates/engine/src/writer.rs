//! Writes the log of one task: checks, numbers, commits, publishes. Only the task's runner has one.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use nuncio_model::{
    ContextId, Error, Message, MessageId, StreamEvent, StreamResponse, Task, TaskId, TaskState, Timestamp,
};
use tokio::time::{Instant, sleep, timeout};

#[cfg(feature = "chaos-bugs")]
use crate::bugs::{self, Bug};
use crate::{
    cluster,
    lifecycle::{self, Fold, IllegalTransition},
    limits::Limits,
    live::{Live, set_waker},
    record::Record,
    repetition,
    shared::Shared,
    size::{self, TooMuch},
    store::{Claim, Commit, Committed, Letter, LetterId, PushConfig, Remember, StoreError, Stored},
};

/// A snapshot is worth its cost once the log after the last one is as long as this, and seven times as long as the log
/// before it: so that all those of a task while it runs cost a seventh of the one at its end, and to load it costs no
/// more than its records.
const SNAPSHOT_EVERY: u64 = 256;

pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    live: Arc<Live>,
    context: ContextId,
    batch: Vec<Record>,
    push_configs: Vec<PushConfig>,
    /// Messages that are staged and are to be known again.
    remember: Vec<MessageId>,
    letters: Vec<(LetterId, u64)>,
    /// The epoch under which this node owns the task; `None` until it has claimed it.
    epoch: Option<u64>,
    sequence: u64,
    snapshot_at: u64,
    state: TaskState,
    updated: Timestamp,
    /// How many bytes its records carry; where it was taken up, the task as it was then.
    size: u64,
    released: bool,
    /// The task may have been created, and nobody knows.
    in_doubt: bool,
    /// Somebody else may own the task.
    fenced: bool,
}

/// What came of a claim.
pub(crate) enum Claimed {
    /// The task is this node's.
    Here {
        /// Whether somebody was at work on it who is not any more: its last turn is to be settled.
        abandoned: bool,
        /// What others wanted of it meanwhile.
        letters: Vec<Letter>,
    },
    /// Another node is at work on it.
    Elsewhere,
}

impl LogWriter {
    /// Writes the log of a task that does not exist yet.
    pub(crate) fn create(
        shared: Arc<Shared>,
        live: Arc<Live>,
        context: ContextId,
        push_configs: Vec<PushConfig>,
    ) -> Self {
        Self {
            shared,
            live,
            context,
            batch: Vec::new(),
            push_configs,
            remember: Vec::new(),
            letters: Vec::new(),
            epoch: Some(0),
            sequence: 0,
            snapshot_at: 0,
            state: TaskState::Submitted,
            updated: Timestamp::default(),
            size: 0,
            released: true,
            in_doubt: false,
            fenced: false,
        }
    }

    /// Goes on with the log of a task, once it is claimed.
    pub(crate) fn resume(shared: Arc<Shared>, live: Arc<Live>) -> Self {
        let writer = Self::create(shared, live, ContextId::default(), Vec::new());
        Self { epoch: None, released: false, ..writer }
    }

    /// Makes this node the owner of the task, if it is not yet, and takes in what the store knows of it.
    pub(crate) async fn claim(&mut self) -> Result<Claimed, Error> {
        let mut claimed = Claimed::Here { abandoned: false, letters: Vec::new() };
        if self.epoch.is_some() {
            return Ok(claimed);
        }
        let known = self.live.lock().epoch;
        let epoch = match known {
            Some(epoch) => epoch,
            None => match self.claim_from_store().await? {
                Claim::Owned { stored, abandoned, letters } => {
                    claimed = Claimed::Here { abandoned: is_cut_off(&stored, abandoned), letters };
                    let epoch = stored.epoch;
                    let is_new = self.live.lock().sequence != stored.sequence;
                    if is_new {
                        self.live.fill(stored);
                    }
                    epoch
                }
                Claim::Held(_) => return Ok(Claimed::Elsewhere),
            },
        };
        let mut inner = self.live.lock();
        inner.epoch = Some(epoch);
        inner.broken = None;
        self.epoch = Some(epoch);
        self.context = inner.task.context_id.clone().unwrap_or_default();
        self.sequence = inner.sequence;
        self.snapshot_at = inner.sequence;
        self.state = inner.state();
        self.updated = inner.task.status.timestamp.unwrap_or_default();
        self.size = size::of_task(&inner.task) as u64;
        self.released = false;
        Ok(claimed)
    }

    async fn claim_from_store(&self) -> Result<Claim, Error> {
        let Live { scope, id, .. } = &*self.live;
        let claimed = self.shared.store.claim(scope, id).await.map_err(|error| self.report(error, "a claim"))?;
        claimed.ok_or_else(|| {
            self.shared.forget(&self.live);
            Error::task_not_found(id.as_str())
        })
    }

    /// Whether this node owns the task.
    pub(crate) fn is_owner(&self) -> bool {
        self.epoch.is_some()
    }

    /// The epoch under which this node owns the task, or will once it exists.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.filter(|_| self.is_committed()).unwrap_or_else(|| self.shared.store.first_epoch())
    }

    /// The task's context.
    pub(crate) fn context(&self) -> &ContextId {
        &self.context
    }

    /// The state after all that is staged.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The sequence number of the last record that is staged.
    pub(crate) fn staged(&self) -> u64 {
        self.sequence + self.batch.len() as u64
    }

    /// Whether anything is in the log.
    pub(crate) fn exists(&self) -> bool {
        self.staged() > 0
    }

    /// Whether anything of it is known to be in the store.
    pub(crate) fn is_committed(&self) -> bool {
        self.sequence > 0
    }

    /// Whether the store has, or may have, a task that is at work under this writer.
    pub(crate) fn is_at_work(&self) -> bool {
        self.in_doubt || self.is_committed() && !self.released
    }

    /// Whether the task has room for an event of the agent.
    pub(crate) fn check_event(&self, response: &StreamResponse) -> Result<(), TooMuch> {
        self.check_size(size::of_event(response))
    }

    /// Whether the task has room for a message of the client.
    pub(crate) fn check_message(&self, message: &Message) -> Result<(), TooMuch> {
        self.check_size(size::of_message(message))
    }

    fn check_size(&self, more: usize) -> Result<(), TooMuch> {
        let Limits { task_size, task_events, .. } = self.shared.limits;
        if self.size.saturating_add(more as u64) > task_size {
            return Err(TooMuch { limit: "task_size", reason: "bytes", most: task_size });
        }
        if self.staged() >= task_events {
            return Err(TooMuch { limit: "task_events", reason: "events", most: task_events });
        }
        Ok(())
    }

    /// Stages the task itself, the first record.
    pub(crate) fn stage_task(&mut self, task: Task) {
        self.state = task.state();
        self.updated = task.status.timestamp.unwrap_or_default();
        self.size += size::of_task(&task) as u64;
        self.remember(&task.history);
        self.push(Record::update(1, StreamResponse::Task(task)));
    }

    /// Stages a change, which takes the next number.
    pub(crate) fn stage(&mut self, mut event: Arc<StreamEvent>) -> Result<(), IllegalTransition> {
        self.state = lifecycle::next_state(self.state, &event.response)?;
        if let StreamResponse::StatusUpdate(update) = &event.response {
            self.updated = update.status.timestamp.unwrap_or_else(Timestamp::now);
        }
        self.size += size::of_event(&event.response) as u64;
        let sequence = Some(self.staged() + 1);
        match Arc::get_mut(&mut event) {
            Some(event) => event.sequence = sequence,
            None => event = Arc::new(StreamEvent::new(sequence, event.response.clone())),
        }
        self.push(Record::Update(event));
        Ok(())
    }

    /// Whether somebody else may own the task, so that nothing more can be written.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// Stages a message of the client, which has its turn at once or `waits` for it, and the letter by which it came.
    pub(crate) fn stage_received(&mut self, message: Message, waits: bool, letter: Option<&LetterId>) {
        self.size += size::of_message(&message) as u64;
        self.remember(std::slice::from_ref(&message));
        let sequence = self.staged() + 1;
        let record = if waits { Record::waiting } else { Record::received };
        self.push(record(sequence, message));
        self.letters.extend(letter.map(|letter| (letter.clone(), sequence)));
    }

    /// Stages that the turn of a message begins that has waited for it.
    pub(crate) fn stage_begun(&mut self) {
        self.push(Record::Begun(self.staged() + 1));
    }

    fn remember(&mut self, messages: &[Message]) {
        if self.shared.idempotency.is_on() {
            repetition::remember(&mut self.remember, messages);
        }
    }

    /// What of the staged messages the store is to know again.
    fn remembered(&mut self) -> Option<Box<Remember>> {
        let messages = std::mem::take(&mut self.remember);
        let since = self.shared.idempotency.since().filter(|_| !messages.is_empty())?;
        Some(Box::new(Remember { messages, since }))
    }

    fn push(&mut self, record: Record) {
        self.batch.push(record);
    }

    /// Commits what is staged, shows it to the readers, and waits for those that are far behind. `release` lets go of
    /// the task, unless it is neither parked nor ended: nobody would ever be at work on it again.
    pub(crate) async fn commit(&mut self, release: bool) -> Result<(), Error> {
        let release = release && is_at_rest(self.state);
        if self.batch.is_empty() && (!release || self.released) {
            return Ok(());
        }
        let records = std::mem::take(&mut self.batch);
        let creates = self.sequence == 0;
        let sequence = self.sequence + records.len() as u64;
        let is_long = sequence - self.snapshot_at >= SNAPSHOT_EVERY.max(7 * self.snapshot_at);
        let snapshot = (creates || release || is_long).then(|| self.fold(&records));
        if creates && !self.state.is_terminal() {
            self.shared.register(&self.live);
        }
        // In a box, so that whoever waits for it has little to carry.
        let commit = Box::new(Commit {
            scope: self.live.scope.clone(),
            id: self.live.id.clone(),
            context: self.context.clone(),
            expected: self.sequence,
            epoch: self.epoch.unwrap_or_default(),
            records: records.clone(),
            state: self.state,
            updated: self.updated,
            released: release,
            snapshot: snapshot.clone(),
            push_configs: std::mem::take(&mut self.push_configs),
            letters: std::mem::take(&mut self.letters),
            remember: self.remembered(),
        });
        #[cfg(feature = "chaos-bugs")]
        let was_early = !creates && Bug::PublishBeforeCommit.is_on();
        #[cfg(feature = "chaos-bugs")]
        if was_early {
            self.live.publish(&records, snapshot.clone(), self.epoch);
            sleep(bugs::MOMENT).await;
        }
        let outcome = if creates { self.write_once(commit).await } else { self.write(commit).await };
        let committed = match outcome {
            Ok(committed) => committed,
            Err(StoreError::Conflict) if !creates && Box::pin(self.is_deleted()).await => {
                return Err(Error::task_not_found(self.live.id.as_str()));
            }
            Err(error) => return Err(self.report(error, "a commit")),
        };
        self.epoch = Some(committed.epoch);
        self.sequence = sequence;
        self.released = release;
        if snapshot.is_some() {
            self.snapshot_at = sequence;
        }
        let is_shared = self.shared.store.cluster().is_some();
        if is_shared && release {
            self.epoch = None;
        }
        if is_shared && records.iter().any(|record| matches!(record, Record::Begun(_))) {
            // A message that came here by letter while its task ran elsewhere may have this turn.
            Box::pin(self.look_whose_turn(&records)).await;
        }
        #[cfg(feature = "chaos-bugs")]
        let records = if was_early { Vec::new() } else { records };
        let kept = self.live.publish(&records, snapshot, self.epoch);
        if is_shared {
            self.shared.members.changed(&self.live.id, sequence);
            self.live.lock().correspondences.iter().for_each(|it| it.moved());
        }
        if committed.owes_push {
            self.shared.push_wakeups.notify_one();
        }
        if kept > self.shared.limits.window {
            self.pace().await;
        }
        Ok(())
    }

    /// Whether a commit was refused because the task was deleted; then nobody else has it.
    async fn is_deleted(&mut self) -> bool {
        let is_deleted = matches!(self.shared.is_there(&self.live).await, Ok(false));
        if is_deleted {
            tracing::info!(task = %self.live.id, "a task was deleted while it was at work");
            self.fenced = false;
        }
        is_deleted
    }

    async fn look_whose_turn(&self, records: &[Record]) {
        if let Err(error) = cluster::look_whose_turn(&self.shared, &self.live, records).await {
            tracing::warn!(task = %self.live.id, error = &error as &dyn std::error::Error, "whose turn begins is not known");
        }
    }

    /// The task after these records.
    fn fold(&self, records: &[Record]) -> Arc<Task> {
        let before = Arc::clone(&self.live.lock().task);
        let mut task = Arc::unwrap_or_clone(before);
        let mut fold = Fold::default();
        for record in records {
            if let Err(error) = fold.apply(&mut task, record) {
                tracing::error!(task = %self.live.id, %error, "a checked record does not apply");
            }
        }
        Arc::new(task)
    }

    /// Commits without trying again: of a new task nothing has been promised yet, and the client can try again itself.
    async fn write_once(&mut self, commit: Box<Commit>) -> Result<Committed, StoreError> {
        self.in_doubt = true;
        let outcome = self.shared.store.commit(*commit).await;
        self.in_doubt = matches!(outcome, Err(StoreError::Unavailable(_)));
        outcome
    }

    /// Commits, trying again for a while when the store cannot write.
    async fn write(&mut self, commit: Box<Commit>) -> Result<Committed, StoreError> {
        let begun = Instant::now();
        let outcome = match self.shared.store.commit(Commit::clone(&commit)).await {
            // In a box, because it is rare and larger than all else that a runner waits for.
            Err(error) if error.is_transient() => Box::pin(self.write_again(&commit, error, begun)).await,
            outcome => outcome,
        };
        let outcome = match outcome {
            Err(StoreError::Repeated(other)) => Box::pin(self.write_anyway(commit, &other)).await,
            #[cfg(feature = "chaos-bugs")]
            Err(StoreError::Conflict) if Bug::NoFencing.is_on() => {
                let mut commit = commit;
                bugs::write_anyway(&self.shared.store, &mut commit).await
            }
            outcome => outcome,
        };
        self.fenced = matches!(outcome, Err(StoreError::Conflict)) && self.shared.store.cluster().is_some();
        outcome
    }

    /// Commits although a message is known of another task: it was sent to both at the same moment, or they were told
    /// apart too late. What else is in the commit must not be lost with it.
    async fn write_anyway(&self, mut commit: Box<Commit>, other: &TaskId) -> Result<Committed, StoreError> {
        tracing::warn!(task = %self.live.id, %other, "a message was sent to two tasks under one id");
        commit.remember = None;
        match self.shared.store.commit(Commit::clone(&commit)).await {
            Err(error) if error.is_transient() => self.write_again(&commit, error, Instant::now()).await,
            outcome => outcome,
        }
    }

    /// Tries a commit that failed again and again, until its time is over or it is clear what came of it.
    async fn write_again(
        &self,
        commit: &Commit,
        mut error: StoreError,
        begun: Instant,
    ) -> Result<Committed, StoreError> {
        let mut pause = Duration::from_millis(10);
        while error.is_transient() && begun.elapsed() < self.shared.limits.commit_retry {
            tracing::warn!(task = %self.live.id, %error, "a commit failed and is tried again");
            sleep(pause).await;
            pause *= 2;
            error = match self.shared.store.commit(commit.clone()).await {
                Err(StoreError::Conflict) => match self.find_written(commit).await {
                    Ok(committed) => return Ok(committed),
                    Err(error) => error,
                },
                Err(error) => error,
                committed => return committed,
            };
        }
        Err(error)
    }

    /// Finds a commit that was written although it failed. Nobody else writes under its epoch, so a log that ends where
    /// it ends has it.
    async fn find_written(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let stored = self.shared.store.load(&commit.scope, &commit.id).await?.ok_or(StoreError::Conflict)?;
        if (stored.epoch, stored.sequence) == (commit.epoch, commit.sequence()) {
            // Whether it owes pushes is not known; nobody is harmed by a look.
            Ok(Committed { epoch: stored.epoch, owes_push: true })
        } else {
            Err(StoreError::Conflict)
        }
    }

    fn report(&self, error: StoreError, what: &str) -> Error {
        if let StoreError::Repeated(other) = &error {
            tracing::debug!(task = %self.live.id, %other, "another node was faster to take the message");
            return error.into();
        }
        tracing::error!(task = %self.live.id, error = &error as &dyn std::error::Error, "{what} failed");
        error.into()
    }

    /// Slows down for readers that are behind the window; then leaves those behind that are still far from the end.
    async fn pace(&self) {
        let window = self.shared.limits.window;
        let moved = poll_fn(|cx| {
            let mut inner = self.live.lock();
            if inner.kept() <= window - window / 16 {
                return Poll::Ready(());
            }
            set_waker(&mut inner.pacer, cx);
            Poll::Pending
        });
        if timeout(self.shared.limits.slow_reader, moved).await.is_err() {
            self.live.lock().leave_behind(window / 2);
        }
    }
}

/// Whether nobody need be at work on a task in this state.
fn is_at_rest(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// Whether a task that was just claimed was left in the middle of something. One that was founded and has no message yet
/// was not: whoever claims it may bring the message.
fn is_cut_off(stored: &Stored, was_at_work: bool) -> bool {
    let is_only_founded = stored.sequence == 1 && stored.task.history.is_empty();
    !is_only_founded && (was_at_work || !is_at_rest(stored.task.state()))
}
