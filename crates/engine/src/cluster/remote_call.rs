//! The wait of a caller for a command: the caller gets the result as if the task ran on this node.

use std::{sync::Arc, time::Duration};

use nuncio_limit::{Permit, not_now};
use nuncio_model::{Error, ErrorKind, TaskState};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{command::Refusal, follow::catch_up, forward::take_over, turn_lookup::note_turns};
use crate::{
    inbox::{Accepted, Cancel, Control, TurnProgress},
    reader::LogReader,
    registry::TaskRef,
    runner::ended,
    shared::Shared,
    store::{Cluster, CommandId, CommandStatus, StoreError},
    turn_index::fold_to,
};

/// The time without news after which the status of a command is read separately. All commands are polled together each
/// second.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);

/// A command that this node has sent, with the progress of the turn of its message.
pub(crate) struct RemoteCall {
    pub(super) command: CommandId,
    pub(super) progress: TurnProgress,
    /// The place of the message in the limit of queued messages, until its turn begins.
    place: Mutex<Option<Permit>>,
    seen: Mutex<Seen>,
    moved: Notify,
}

/// The result of the last poll.
#[derive(Default)]
struct Seen {
    /// `None` also if the command did not exist.
    last: Option<CommandStatus>,
    /// Whether the follower has not read `last` yet.
    is_new: bool,
}

impl RemoteCall {
    pub(super) fn new(command: CommandId, progress: TurnProgress, place: Option<Permit>) -> Self {
        Self { command, progress, place: Mutex::new(place), seen: Mutex::default(), moved: Notify::new() }
    }

    /// The turn of the message begins after this record, and the message is no longer queued.
    pub(super) fn begins(&self, sequence: u64) {
        self.progress.begin(sequence);
        self.place.lock().take();
    }

    /// Wakes the follower after a change of the task.
    pub(crate) fn moved(&self) {
        self.moved.notify_one();
    }

    /// Whether the status of the command can have changed, given the state of the task.
    pub(super) fn may_have_moved(&self, state: TaskState) -> bool {
        let has_turn = self.progress.has_begun() && self.seen.lock().last.as_ref().is_some_and(|it| it.acked.is_some());
        !has_turn || state.is_interrupted() || state.is_terminal() || !self.progress.is_awaited()
    }

    /// Stores a polled status, and wakes the follower if the follower must act.
    pub(super) fn found(&self, status: Option<CommandStatus>, state: TaskState) {
        let mut seen = self.seen.lock();
        let is_quiet = seen.last == status
            && status.as_ref().is_some_and(|it| it.holder.is_some())
            && !self.may_be_over(status.as_ref(), state);
        if !is_quiet {
            *seen = Seen { last: status, is_new: true };
            self.moved.notify_one();
        }
    }

    fn may_be_over(&self, status: Option<&CommandStatus>, state: TaskState) -> bool {
        let is_acked = status.is_some_and(|it| it.acked.is_some());
        state.is_interrupted() || state.is_terminal() || is_acked && !self.progress.is_awaited()
    }

    /// Waits for a new status of the command, and reads the status after `longest`.
    pub(super) async fn news(
        &self,
        cluster: &dyn Cluster,
        longest: Duration,
    ) -> Result<Option<CommandStatus>, StoreError> {
        select! {
            () = self.moved.notified() => {}
            () = sleep(longest) => {}
        }
        let news = {
            let mut seen = self.seen.lock();
            std::mem::take(&mut seen.is_new).then(|| seen.last.clone())
        };
        match news {
            Some(status) => Ok(status),
            None => cluster.status(&self.command).await,
        }
    }

    /// Follows the command until it is finished.
    pub(super) async fn follow(
        &self,
        shared: &Arc<Shared>,
        cluster: &dyn Cluster,
        task_ref: &TaskRef,
        mut wanted: Wanted,
    ) {
        let mut status = cluster.status(&self.command).await;
        loop {
            let advanced = match status {
                Ok(status) => self.advance(shared, cluster, task_ref, &mut wanted, status).await,
                Err(error) => Err(error),
            };
            let longest = match advanced {
                Ok(true) => return,
                Ok(false) => LONGEST_SILENCE,
                Err(error) => {
                    tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "cluster: cannot follow a command; retrying");
                    shared.limits.poll_interval
                }
            };
            status = self.news(cluster, longest).await;
        }
    }

    /// Acts on a status of the command. Returns whether the command is finished.
    async fn advance(
        &self,
        shared: &Arc<Shared>,
        cluster: &dyn Cluster,
        task_ref: &TaskRef,
        wanted: &mut Wanted,
        status: Option<CommandStatus>,
    ) -> Result<bool, StoreError> {
        let gone = task_ref.lock().broken.clone().filter(|error| error.kind() == ErrorKind::TaskNotFound);
        if let Some(error) = gone {
            wanted.refuse(error);
            return Ok(true);
        }
        let Some(status) = status else {
            if catch_up(shared, task_ref).await? {
                wanted.refuse(not_now("the message was lost on its way to the task; try again"));
            } else {
                wanted.refuse(Error::task_not_found(task_ref.id.as_str()));
            }
            self.rest(shared, task_ref, None).await?;
            return Ok(true);
        };
        if let Some(reason) = &status.refused {
            wanted.refuse(Refusal::decode(reason));
            return Ok(true);
        }
        let Some(acked) = status.acked else {
            let state = task_ref.lock().task_state();
            if state.is_terminal() {
                // After a cancel, the caller reads the state of the task.
                if cluster.cancel(&self.command).await? {
                    if let Wanted::Message(_) = wanted {
                        wanted.refuse(ended(&task_ref.id, state));
                    }
                    return Ok(true);
                }
            } else if status.holder.is_none() {
                // If this node cannot run the task now, the status is read again later.
                drop(take_over(shared, task_ref, Control::PendingCommands));
            }
            return Ok(false);
        };
        if task_ref.lock().sequence < status.rested.unwrap_or(acked).max(acked) && !catch_up(shared, task_ref).await? {
            wanted.refuse(Error::task_not_found(task_ref.id.as_str()));
            return Ok(true);
        }
        let (sequence, state) = {
            let state = task_ref.lock();
            (state.sequence, state.task_state())
        };
        if sequence < acked {
            return Ok(false);
        }
        let log = (state.is_terminal() || state.is_interrupted()).then_some(sequence);
        note_turns(shared, task_ref, &[(self, &status)], log).await?;
        if let Wanted::Message(accepted) = wanted
            && let Some(accepted) = accepted.take()
        {
            let (reader, task, _) = LogReader::from_now(task_ref.clone());
            drop(accepted.send(Ok(Accepted { task, reader })));
        }
        let rests = match status.rested {
            _ if state.is_terminal() => true,
            Some(rested) => rested <= sequence,
            // The owner failed, and the next owner did not know the turn.
            None => status.holder.is_none() && state.is_interrupted(),
        };
        if rests {
            if !state.is_terminal() && !self.progress.has_begun() {
                self.begins(acked);
            }
            self.rest(shared, task_ref, status.rested).await?;
        }
        // The message is in the log. If no caller waits for the turn, the command is finished.
        Ok(rests || !self.progress.is_awaited())
    }

    /// Reports to the caller that the turn is over. If other turns have followed and the log is kept, the caller gets the
    /// task as of the record `rested`.
    async fn rest(&self, shared: &Shared, task_ref: &TaskRef, rested: Option<u64>) -> Result<(), StoreError> {
        let (mut task, now) = {
            let state = task_ref.lock();
            (Arc::clone(&state.task), state.status_sequence)
        };
        let is_past = |rested: &u64| *rested < now && !task.state().is_terminal() && self.progress.rested().is_none();
        if let Some(rested) = rested.filter(is_past) {
            let from = (Arc::default(), 0);
            task = fold_to(&*shared.store, &task_ref.scope, &task_ref.id, from, rested).await?.unwrap_or(task);
        }
        task_ref.change(|_| self.progress.rest(task));
        Ok(())
    }
}

/// The caller of a command.
pub(super) enum Wanted {
    Message(Option<oneshot::Sender<Result<Accepted, Error>>>),
    Cancel(Option<oneshot::Sender<Error>>),
}

impl Wanted {
    pub(super) fn of(control: Control) -> Self {
        match control {
            Control::Message(mut incoming) => {
                if let Some(precreated) = incoming.precreated.take() {
                    precreated.confirm();
                }
                Self::Message(incoming.accepted)
            }
            Control::Cancel(Cancel { refused, .. }) => Self::Cancel(Some(refused)),
            _ => Self::Cancel(None),
        }
    }

    fn refuse(&mut self, error: Error) {
        // The sender may have left.
        match self {
            Self::Message(accepted) => drop(accepted.take().map(|it| it.send(Err(error)))),
            Self::Cancel(told) => drop(told.take().map(|it| it.send(error))),
        }
    }
}
