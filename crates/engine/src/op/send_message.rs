//! `SendMessage` (section 3.1.1).

use std::{sync::Arc, time::Duration};

use nuncio_model::{Error, ErrorKind, Reply, Scope, Task, op::SendMessageRequest};

use crate::{
    conversation::{Beginning, Continuation, Opening, accepted, with_history},
    inbox::Course,
    reader::{ended_before_its_turn, settled},
    registry::Hold,
    shared::Shared,
};

use super::With;

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
) -> Result<Reply, Error> {
    let at_once = request.returns_immediately();
    let history = request.history_length();
    let opening = Opening::new(shared, scope, request, with).await?;
    let reply = if let Some(id) = opening.task_id() {
        Reply::Task(go_on(opening.go_on(shared, id).await?, at_once).await?)
    } else {
        let patience = if at_once { Duration::ZERO } else { shared.limits.first_word };
        let Beginning { hold, runner, course } = opening.begin(shared, patience)?;
        let answer = runner.until(|| answer(&hold, &course, at_once)).await;
        answer.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "the turn ended without an outcome")))?
    };
    Ok(match reply {
        Reply::Task(task) => Reply::Task(with_history(task, history)),
        message => message,
    })
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
