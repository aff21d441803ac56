//! `SendMessage` (section 3.1.1).

use std::{sync::Arc, time::Duration};

use nuncio_model::{Error, ErrorKind, Message, Reply, Scope, Task, op::SendMessageRequest};

use crate::{
    conversation::{Continuation, Opening, with_history},
    engine::Shared,
    inbox::Started,
    inline::Inline,
    reader::{LogReader, ended_before_its_turn, settled},
    registry::Hold,
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    extensions: &[Box<str>],
) -> Result<Reply, Error> {
    let at_once = request.returns_immediately();
    let history = request.history_length();
    let task_id = request.message.task_id.clone();
    let opening = Opening::new(shared, scope, request, extensions).await?;
    let answer = match task_id {
        Some(id) => Answer::Task(go_on(opening.go_on(shared, id).await?, at_once).await?),
        None if at_once => {
            let (hold, runner) = opening.begin(shared, Duration::ZERO)?;
            first_sign(&hold, runner).await?
        }
        None => {
            let (hold, runner) = opening.begin(shared, shared.limits.first_word)?;
            outcome(&hold, runner).await?
        }
    };
    Ok(match answer {
        Answer::Task(task) => Reply::Task(with_history(task, history)),
        Answer::Message(message) => Reply::Message(Box::new(message)),
    })
}

enum Answer {
    Task(Arc<Task>),
    Message(Message),
}

/// Runs a new interaction until its turn has come to rest (SEND-9).
async fn outcome(hold: &Hold, runner: Inline) -> Result<Answer, Error> {
    let started = Started::after(0);
    let answer = runner.until(|| {
        let inner = hold.lock();
        if let Some(message) = &inner.direct {
            return Some(Ok(Answer::Message(message.clone())));
        }
        settled(&inner, &started).map(|task| task.map(Answer::Task))
    });
    answer.await.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "the turn ended without an outcome")))
}

/// Runs a new interaction until there is a task, or an answer (SEND-10).
async fn first_sign(hold: &Hold, runner: Inline) -> Result<Answer, Error> {
    let answer = runner.until(|| {
        let inner = hold.lock();
        if let Some(message) = &inner.direct {
            return Some(Ok(Answer::Message(message.clone())));
        }
        if inner.sequence > 0 {
            return Some(Ok(Answer::Task(Arc::clone(&inner.task))));
        }
        inner.broken.clone().map(Err)
    });
    answer.await.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "the turn ended without an outcome")))
}

/// Waits for the turn of a message to a task that exists.
async fn go_on(continuation: Continuation, at_once: bool) -> Result<Arc<Task>, Error> {
    let (_hold, runner, accepted, started) = continuation.into_pieces();
    let waiting = async {
        let accepted = Continuation::accepted(accepted).await?;
        if at_once {
            return Ok(accepted.task);
        }
        wait(accepted.reader, started).await
    };
    match runner {
        Some(runner) => runner.with(waiting).await,
        None => waiting.await,
    }
}

async fn wait(reader: LogReader, started: Started) -> Result<Arc<Task>, Error> {
    let task = reader.settled(started.clone()).await?;
    if started.has_started() { Ok(task) } else { Err(ended_before_its_turn(&task)) }
}
