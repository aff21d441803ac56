//! `SendMessage` (section 3.1.1).

use std::{sync::Arc, time::Duration};

use nuncio_model::{Error, Reply, Scope, Task, op::SendMessageRequest};

use crate::{
    admission::not_now,
    conversation::{Beginning, Continuation, Opening, accepted, with_history},
    flights::Flight,
    inbox::Course,
    reader::{LogReader, ended_before_its_turn, settled},
    registry::Hold,
    repetition::{Entry, enter, is_repeated},
    shared::Shared,
};

use super::With;

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
) -> Result<Reply, Error> {
    let history = request.history_length();
    let reply = if shared.idempotency.is_on() {
        // In a box, as are other ways that few messages go: their room would be every message's.
        Box::pin(once(shared, scope, request, with)).await?
    } else {
        attempt(shared, scope, request, with, None).await?
    };
    Ok(match reply {
        Reply::Task(task) => Reply::Task(with_history(task, history)),
        message => message,
    })
}

/// A message that may be known by its id.
async fn once(shared: &Arc<Shared>, scope: Scope, request: SendMessageRequest, with: With) -> Result<Reply, Error> {
    loop {
        let begins = request.message.task_id.is_none() && with.begins.is_none();
        let flight = match enter(shared, &scope, &request.message, begins).await? {
            Entry::First(flight) => flight,
            Entry::Again(repetition) => {
                return repetition.task(shared, request.returns_immediately()).await.map(Reply::Task);
            }
            Entry::Answered(message) => return Ok(Reply::Message(message)),
        };
        match attempt(shared, scope.clone(), request.clone(), with.clone(), flight).await {
            // Another was faster, and its task is there now.
            Err(error) if is_repeated(&error) => {}
            outcome => return outcome,
        }
    }
}

async fn attempt(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
    flight: Option<Flight>,
) -> Result<Reply, Error> {
    let at_once = request.returns_immediately();
    let opening = Opening::new(shared, scope, request, with).await?;
    if let Some(id) = opening.task_id() {
        let going_on = async { go_on(opening.go_on(shared, id).await?, at_once).await };
        return Box::pin(going_on).await.map(Reply::Task);
    }
    let patience = if at_once { Duration::ZERO } else { shared.limits.first_word };
    let Beginning { hold, runner, course } = opening.begin(shared, patience, flight)?;
    match runner.until(|| answer(&hold, &course, at_once)).await {
        Some(answer) => answer,
        None => Box::pin(elsewhere(hold, course)).await,
    }
}

/// What came of a turn that this node lost with its lease: whoever has the task now says it.
async fn elsewhere(hold: Hold, course: Course) -> Result<Reply, Error> {
    let (reader, _, sequence) = LogReader::from_now(hold);
    if sequence == 0 {
        return Err(not_now("the turn was stopped before its task was stored; try again"));
    }
    reader.settled(course).await.map(Reply::Task)
}

/// What came of a new interaction, if anything did yet: an answer, a task that has come to rest (SEND-9), or any task,
/// where that is enough (SEND-10).
fn answer(hold: &Hold, course: &Course, at_once: bool) -> Option<Result<Reply, Error>> {
    let mut inner = hold.lock();
    if let Some(message) = inner.direct.take() {
        return Some(Ok(Reply::Message(Box::new(message))));
    }
    if at_once && inner.sequence > 0 {
        return Some(Ok(Reply::Task(Arc::clone(&inner.task))));
    }
    settled(&inner, course).map(|task| task.map(Reply::Task))
}

/// Waits for the turn of a message to a task that exists.
async fn go_on(continuation: Continuation, at_once: bool) -> Result<Arc<Task>, Error> {
    let Continuation { runner, accepted: receiver, course } = continuation;
    let waiting = async {
        let accepted = accepted(receiver).await?;
        if at_once {
            return Ok(accepted.task);
        }
        let task = accepted.reader.settled(course.clone()).await?;
        if course.has_begun() { Ok(task) } else { Err(ended_before_its_turn(&task)) }
    };
    match runner {
        Some(runner) => runner.with(waiting).await,
        None => waiting.await,
    }
}
