//! `SendMessage` (section 3.1.1).

use std::{sync::Arc, time::Duration};

use nuncio_limit::not_now;
use nuncio_model::{Calling, Error, Reply, Scope, Task, op::SendMessageRequest};

use crate::{
    conversation::{Beginning, Continuation, Opening, with_history},
    dedup::{Dedup, check, is_duplicate, may_be_known},
    in_flight::Leader,
    inbox::TurnProgress,
    reader::{LogReader, ended_before_its_turn, settled},
    registry::TaskRef,
    shared::Shared,
};

use super::With;

/// Not an `async fn`, because such a future would reserve space for the message twice.
#[expect(clippy::manual_async_fn, reason = "it is larger as one")]
pub(super) fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
) -> impl Future<Output = Result<Reply, Error>> + Send {
    async move {
        let history = request.history_length();
        let reply = if shared.idempotency.is_on() {
            // In a box, like other rare paths. Otherwise every message would reserve space for this path.
            Box::pin(once(shared, scope, request, with)).await?
        } else {
            Attempt::new(shared, scope, request, with, None)?.outcome().await?
        };
        Ok(match reply {
            Reply::Task(task) => Reply::Task(with_history(task, history)),
            message => message,
        })
    }
}

/// Handles a message that may be a duplicate.
async fn once(shared: &Arc<Shared>, scope: Scope, request: SendMessageRequest, with: With) -> Result<Reply, Error> {
    let mut is_sure = false;
    loop {
        let creates = request.message.task_id.is_none() && with.new_task.is_none();
        let leader = match check(shared, &scope, &request.message, creates).await? {
            Dedup::New(leader) => leader,
            Dedup::Duplicate(duplicate) => {
                return duplicate.task(shared, request.returns_immediately()).await.map(Reply::Task);
            }
            Dedup::Answered(message) => return Ok(Reply::Message(message)),
        };
        let outcome = match Attempt::new(shared, scope.clone(), request.clone(), with.clone(), leader) {
            Ok(attempt) => attempt.outcome().await,
            Err(error) => Err(error),
        };
        match outcome {
            // Another request with this message was faster, and its task exists now.
            Err(error) if is_duplicate(&error) => {}
            // The error may belong to an earlier attempt of this message. Try once more to be sure.
            Err(error) if may_be_known(&error) && !is_sure => is_sure = true,
            outcome => return outcome,
        }
    }
}

/// An accepted message.
enum Attempt<'a> {
    /// The message creates a task.
    Begun { beginning: Beginning, at_once: bool },
    /// The message needs further checks, or belongs to an existing task.
    Other(Calling<'a>),
}

impl<'a> Attempt<'a> {
    fn new(
        shared: &'a Arc<Shared>,
        scope: Scope,
        request: SendMessageRequest,
        with: With,
        leader: Option<Leader>,
    ) -> Result<Self, Error> {
        let at_once = request.returns_immediately();
        let first_event_timeout = if at_once { Duration::ZERO } else { shared.limits.first_event_timeout };
        let mut opening = Opening::new(shared, scope, request, with)?;
        if opening.is_settled() && opening.task_id().is_none() {
            return Ok(Self::Begun { beginning: opening.begin(shared, first_event_timeout, leader)?, at_once });
        }
        Ok(Self::Other(Box::pin(async move {
            opening.settle(shared).await?;
            match opening.task_id() {
                Some(id) => go_on(shared, opening.go_on(shared, id).await?, at_once).await.map(Reply::Task),
                None => begun(opening.begin(shared, first_event_timeout, leader)?, at_once).await,
            }
        })))
    }

    async fn outcome(self) -> Result<Reply, Error> {
        match self {
            Self::Begun { beginning, at_once } => begun(beginning, at_once).await,
            Self::Other(outcome) => outcome.await,
        }
    }
}

/// Waits for the outcome of a new task.
async fn begun(beginning: Beginning, at_once: bool) -> Result<Reply, Error> {
    let Beginning { task_ref, runner, progress } = beginning;
    match runner.until(|| answer(&task_ref, &progress, at_once)).await {
        Some(answer) => answer,
        None => Box::pin(elsewhere(task_ref, progress)).await,
    }
}

/// The outcome of a turn that this node lost with its lease, from the node that owns the task now.
async fn elsewhere(task_ref: TaskRef, progress: TurnProgress) -> Result<Reply, Error> {
    let (reader, _, sequence) = LogReader::from_now(task_ref);
    if sequence == 0 {
        return Err(not_now("the turn was stopped before its task was stored; try again"));
    }
    reader.settled(progress).await.map(Reply::Task)
}

/// The outcome of a new task, if there is one: a direct answer, an ended or interrupted task, or any task if the call
/// returns immediately (section 3.2.2 "SendMessageConfiguration").
fn answer(task_ref: &TaskRef, progress: &TurnProgress, at_once: bool) -> Option<Result<Reply, Error>> {
    let mut state = task_ref.lock();
    if let Some(message) = state.direct.take() {
        return Some(Ok(Reply::Message(Box::new(message))));
    }
    if at_once && state.sequence > 0 {
        return Some(Ok(Reply::Task(Arc::clone(&state.task))));
    }
    settled(&state, progress).map(|task| task.map(Reply::Task))
}

/// Waits for the turn of a message to an existing task.
async fn go_on(shared: &Shared, continuation: Continuation, at_once: bool) -> Result<Arc<Task>, Error> {
    let Continuation { runner, accepted, progress } = continuation;
    let waiting = async {
        let accepted = accepted.wait(shared).await?;
        if at_once {
            return Ok(accepted.task);
        }
        let task = accepted.reader.settled(progress.clone()).await?;
        if progress.has_begun() { Ok(task) } else { Err(ended_before_its_turn(&task)) }
    };
    match runner {
        Some(runner) => runner.with(waiting).await,
        None => waiting.await,
    }
}
