//! Deduplication by message id: finds the first message, compares the content, and gives the duplicate the same answer.

mod turn_in_log;

use std::sync::Arc;

use nuncio_model::{
    Error, ErrorKind, EventStream, Message, MessageId, Role, Scope, StreamEvent, StreamResponse, Task, Timestamp,
};
use turn_in_log::TurnInLog;

use crate::{
    conversation::with_history,
    feed::{Feed, Until},
    in_flight::{Leader, Position},
    inbox::TurnProgress,
    reader::{IN_HISTORY, LogReader, ended_before_its_turn},
    registry::TaskRef,
    shared::Shared,
    store::{DEDUP, EARLIER_DEDUP},
    turns::stopping_at,
};

/// What the deduplication knows about a message.
pub(crate) enum Dedup {
    /// The message is new, or deduplication is off.
    New(Option<Leader>),
    /// The message was received before and belongs to a task.
    Duplicate(DuplicateMessage),
    /// The message was received before, and this is the direct answer.
    Answered(Box<Message>),
}

/// A message that its task already contains.
pub(crate) struct DuplicateMessage {
    task_ref: TaskRef,
    turn: KnownTurn,
}

/// What this node knows about the turn of the first message.
enum KnownTurn {
    /// The runner reports the progress; or the turn is over, and then any state at rest is the answer.
    Known(TurnProgress),
    /// The turn had not begun, on another node or in an earlier process: the log will tell.
    InLog(TurnInLog),
}

/// Checks whether a message was received before. `begins` says that it may begin a task, so that others wait until it has.
pub(crate) async fn check(
    shared: &Arc<Shared>,
    scope: &Scope,
    message: &Message,
    begins: bool,
) -> Result<Dedup, Error> {
    let Some(since) = shared.idempotency.since().filter(|_| !message.message_id.is_empty()) else {
        return Ok(Dedup::New(None));
    };
    // Most of the code is for the rare case; boxed, because the future of a call should be small.
    Box::pin(look(shared, scope, message, since, begins)).await
}

async fn look(
    shared: &Arc<Shared>,
    scope: &Scope,
    message: &Message,
    since: Timestamp,
    begins: bool,
) -> Result<Dedup, Error> {
    loop {
        // The first message is registered before the store is asked, so that no duplicate is missed meanwhile.
        let leader = match shared.in_flight.join_or_lead(scope, &message.message_id) {
            Position::Leader(leader) => leader,
            Position::Duplicate(outcome) => {
                if let Some(answer) = outcome.wait().await {
                    return Ok(Dedup::Answered(Box::new(answer.clone())));
                }
                continue;
            }
        };
        return Ok(match find(shared, scope, message, since).await? {
            Some(duplicate) => Dedup::Duplicate(duplicate),
            None => Dedup::New(begins.then_some(leader)),
        });
    }
}

/// Finds the task that contains the message.
async fn find(
    shared: &Arc<Shared>,
    scope: &Scope,
    message: &Message,
    since: Timestamp,
) -> Result<Option<DuplicateMessage>, Error> {
    let Some(id) = shared.store.task_of_message(scope, &message.message_id, since).await? else { return Ok(None) };
    let task_ref = match shared.attach(scope, &id).await {
        Ok(task_ref) => task_ref,
        // The task was deleted meanwhile.
        Err(error) if error.kind() == ErrorKind::TaskNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    shared.keep_abreast(&task_ref).await?;
    let (progress, may_wait) = {
        let state = task_ref.lock();
        if !is_of(message, &state.task) {
            return Err(Error::invalid_params(
                "message.messageId",
                format!("was used for another message, of task {id}; send a new message under an id of its own"),
            )
            .with_metadata("taskId", id.as_str()));
        }
        let may_wait = !state.task_state().is_terminal() && of_client(&state.task).nth(1).is_some();
        (state.progress_of(&message.message_id), may_wait)
    };
    let turn = match progress {
        Some(progress) => KnownTurn::Known(progress),
        None if may_wait => match TurnInLog::find(shared, &task_ref, &message.message_id).await? {
            Some(turn) => KnownTurn::InLog(turn),
            None => KnownTurn::Known(TurnProgress::begun()),
        },
        None => KnownTurn::Known(TurnProgress::begun()),
    };
    Ok(Some(DuplicateMessage { task_ref, turn }))
}

/// The messages of the client, newest first.
fn of_client(task: &Task) -> impl Iterator<Item = &Message> {
    task.history.iter().rev().filter(|known| known.role == Role::User)
}

/// Whether the task has the same message under this id. A task or context that the message does not name is not compared.
fn is_of(message: &Message, task: &Task) -> bool {
    let Some(first) = of_client(task).find(|known| known.message_id == message.message_id) else { return true };
    message.task_id.as_ref().is_none_or(|id| *id == task.id)
        && (message.context_id.is_none() || message.context_id == first.context_id)
        && message.parts == first.parts
        && message.metadata == first.metadata
        && message.extensions == first.extensions
        && message.reference_task_ids == first.reference_task_ids
}

impl DuplicateMessage {
    /// The answer of a call without a stream: the task now, or when the turn of the message has stopped. When the engine
    /// stops, all waiting callers are released; a later caller is refused, because nothing would release that caller.
    pub(crate) async fn task(self, shared: &Shared, at_once: bool) -> Result<Arc<Task>, Error> {
        let Self { task_ref, turn } = self;
        let progress = match turn {
            _ if at_once => return Ok(Arc::clone(&task_ref.lock().task)),
            KnownTurn::Known(progress) => progress,
            KnownTurn::InLog(turn) => return turn.rested(shared, task_ref).await,
        };
        let (reader, task, _) = LogReader::from_now(task_ref);
        if shared.turns.are_draining() && !task.state().is_terminal() && !task.state().is_interrupted() {
            return Err(stopping_at(&task.id));
        }
        let task = reader.settled(progress.clone()).await?;
        if progress.has_begun() { Ok(task) } else { Err(ended_before_its_turn(&task)) }
    }

    /// The answer of a call with a stream: the current task, then the events until the turn of the message has stopped.
    pub(crate) fn events(self, shared: &Shared, history: Option<i32>) -> Result<EventStream, Error> {
        let (until, turn) = match self.turn {
            KnownTurn::Known(progress) => (Until::InputRequired(progress), None),
            KnownTurn::InLog(turn) => (Until::Ended, Some(turn)),
        };
        let (reader, task, sequence) = LogReader::from_now(self.task_ref);
        if shared.turns.are_draining() && !task.state().is_terminal() {
            return Err(stopping_at(&task.id));
        }
        let task = Arc::unwrap_or_clone(with_history(task, history));
        let first = StreamEvent::new(Some(sequence), StreamResponse::Task(task));
        let feed = Feed::new(reader, shared, until, [Arc::new(first)]).with_history(history);
        Ok(match turn {
            Some(turn) => Box::pin(turn.until_it_rests(feed)),
            None => Box::pin(feed),
        })
    }
}

/// Whether a task refused a message although the task may contain the same message, received twice at the same time.
pub(crate) fn may_be_known(error: &Error) -> bool {
    error.kind() == ErrorKind::UnsupportedOperation && !error.metadata().contains_key(IN_HISTORY)
}

/// Whether a message was refused as a duplicate.
pub(crate) fn is_duplicate(error: &Error) -> bool {
    [DEDUP, EARLIER_DEDUP].iter().any(|key| error.metadata().contains_key(*key))
}

/// Adds the ids of messages to remember.
pub(crate) fn remember(ids: &mut Vec<MessageId>, messages: &[Message]) {
    for Message { message_id: id, .. } in messages {
        if !id.is_empty() && !ids.contains(id) {
            ids.push(id.clone());
        }
    }
}
