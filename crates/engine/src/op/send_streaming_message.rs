//! `SendStreamingMessage` (section 3.1.2).

use std::sync::Arc;

use futures_util::{future::ready, stream::once};
use nuncio_model::{Error, Reply, Scope, StreamEvent, StreamResponse, op::SendMessageRequest};

use crate::{
    conversation::{Beginning, Continuation, Opening, accepted, with_history},
    feed::{Feed, Until},
    flights::Flight,
    reader::LogReader,
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
    let feed = if shared.idempotency.is_on() {
        match Box::pin(feed_once(shared, scope, request, with)).await? {
            Ok(feed) => feed,
            Err(answer) => return Ok(Reply::Events(Box::pin(once(ready(Ok(answer)))))),
        }
    } else {
        attempt(shared, scope, request, with, None).await?
    };
    Ok(Reply::Events(Box::pin(feed.with_history(history))))
}

/// The feed of a message that may have come before; or the direct answer of the agent to the first.
async fn feed_once(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
) -> Result<Result<Feed, Arc<StreamEvent>>, Error> {
    loop {
        let begins = request.message.task_id.is_none() && with.begins.is_none();
        let flight = match enter(shared, &scope, &request.message, begins).await? {
            Entry::First(flight) => flight,
            Entry::Again(repetition) => return repetition.events(shared, request.history_length()).map(Ok),
            Entry::Answered(message) => {
                return Ok(Err(Arc::new(StreamEvent::new(None, StreamResponse::Message(*message)))));
            }
        };
        let feed = attempt(shared, scope.clone(), request.clone(), with.clone(), flight).await;
        let begun = match feed {
            Ok(feed) => feed.begun().await,
            Err(error) => Err(error),
        };
        match begun {
            // Another was faster, and its task is there now.
            Err(error) if is_repeated(&error) => {}
            outcome => return outcome.map(Ok),
        }
    }
}

async fn attempt(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
    flight: Option<Flight>,
) -> Result<Feed, Error> {
    let history = request.history_length();
    let opening = Opening::new(shared, scope, request, with).await?;
    Ok(match opening.task_id() {
        None => {
            let Beginning { hold, runner, course } =
                opening.begin(shared, shared.limits.first_word_streaming, flight)?;
            let reader = LogReader::from_start(hold);
            runner.detach();
            Feed::new(reader, shared, Until::InputRequired(course), [])
        }
        Some(id) => {
            let Continuation { runner, accepted: receiver, course } = Box::pin(opening.go_on(shared, id)).await?;
            if let Some(runner) = runner {
                runner.detach();
            }
            let accepted = accepted(receiver).await?;
            let sequence = accepted.reader.cursor();
            let task = with_history(accepted.task, history);
            let first = StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task)));
            Feed::new(accepted.reader, shared, Until::InputRequired(course), [Arc::new(first)])
        }
    })
}
