//! A message that comes again: found by its id, held against the first, and answered as the first is.

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

/// What is known of a message when it comes.
pub(crate) enum Dedup {
    /// It is new, or ids say nothing.
    New(Option<Leader>),
    /// It came before, and belongs to a task.
    Duplicate(DuplicateMessage),
    /// It came before, and this is the answer.
    Answered(Box<Message>),
}

/// A message that its task has already.
pub(crate) struct DuplicateMessage {
    task_ref: TaskRef,
    turn: KnownTurn,
}

/// What is known here of the turn of a message that came before.
enum KnownTurn {
    /// Its runner says how far it has come; or it is over, and then any rest will do.
    Known(TurnProgress),
    /// It had yet to begin, on another node or by an earlier process: the log will tell.
    InLog(TurnInLog),
}

/// Looks whether a message came before. `begins` says that it may begin a task, so that others wait until it has.
pub(crate) async fn check(
    shared: &Arc<Shared>,
    scope: &Scope,
    message: &Message,
    begins: bool,
) -> Result<Dedup, Error> {
    let Some(since) = shared.idempotency.since().filter(|_| !message.message_id.is_empty()) else {
        return Ok(Dedup::New(None));
    };
    // Most of the work is for the rare case, and the future of a call should be small.
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
        // Those that come first are noted before the store is asked, so that none is missed on its way there.
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

/// The task that has the message, where one has.
async fn find(
    shared: &Arc<Shared>,
    scope: &Scope,
    message: &Message,
    since: Timestamp,
) -> Result<Option<DuplicateMessage>, Error> {
    let Some(id) = shared.store.task_of_message(scope, &message.message_id, since).await? else { return Ok(None) };
    let task_ref = match shared.attach(scope, &id).await {
        Ok(task_ref) => task_ref,
        // It was deleted in between.
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

/// What the client sent, the newest first.
fn of_client(task: &Task) -> impl Iterator<Item = &Message> {
    task.history.iter().rev().filter(|known| known.role == Role::User)
}

/// Whether the message is the one that the task has under its id. Where it names no task and no context, it may be any.
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
    /// What a call that does not stream is answered: the task now, or once the turn of the message has come to rest. The
    /// engine lets go of everybody who waits when it stops; of one that comes later nobody would know.
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

    /// What a call that streams is answered: the task as it is, and what follows until its turn has come to rest.
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

/// Whether a message was refused by a task that may have ended with this very message, which came twice at once.
pub(crate) fn may_be_known(error: &Error) -> bool {
    error.kind() == ErrorKind::UnsupportedOperation && !error.metadata().contains_key(IN_HISTORY)
}

/// Whether a message was refused because it is known already.
pub(crate) fn is_duplicate(error: &Error) -> bool {
    [DEDUP, EARLIER_DEDUP].iter().any(|key| error.metadata().contains_key(*key))
}

/// The ids among these that are to be remembered.
pub(crate) fn remember(ids: &mut Vec<MessageId>, messages: &[Message]) {
    for Message { message_id: id, .. } in messages {
        if !id.is_empty() && !ids.contains(id) {
            ids.push(id.clone());
        }
    }
}
