//! `SendStreamingMessage` (section 3.1.2).

use std::sync::Arc;

use futures_util::{future::ready, stream::once};
use nuncio_model::{Error, EventStream, Reply, Scope, StreamEvent, StreamResponse, op::SendMessageRequest};

use crate::{
    conversation::{Beginning, Continuation, Opening, with_history},
    dedup::{Dedup, check, is_duplicate, may_be_known},
    feed::{Feed, Until},
    in_flight::Leader,
    reader::LogReader,
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
    Ok(Reply::Events(if shared.idempotency.is_on() {
        Box::pin(events_once(shared, scope, request, with)).await?
    } else {
        Box::pin(attempt(shared, scope, request, with, None).await?.with_history(history))
    }))
}

/// The events of a message that may be a duplicate. The only event can be the direct answer to the first message.
async fn events_once(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
) -> Result<EventStream, Error> {
    let history = request.history_length();
    let mut is_sure = false;
    loop {
        let creates = request.message.task_id.is_none() && with.new_task.is_none();
        let leader = match check(shared, &scope, &request.message, creates).await? {
            Dedup::New(leader) => leader,
            Dedup::Duplicate(duplicate) => return duplicate.events(shared, history),
            Dedup::Answered(message) => {
                let answer = StreamEvent::new(None, StreamResponse::Message(*message));
                return Ok(Box::pin(once(ready(Ok(Arc::new(answer))))));
            }
        };
        match attempt(shared, scope.clone(), request.clone(), with.clone(), leader).await {
            // Another request with this message was faster, and its task exists now.
            Err(error) if is_duplicate(&error) => {}
            // The error may belong to an earlier attempt of this message. Try once more to be sure.
            Err(error) if may_be_known(&error) && !is_sure => is_sure = true,
            outcome => return Ok(Box::pin(outcome?.with_history(history))),
        }
    }
}

/// The events of a message, after the first event exists or is certain. Errors before the first event are errors of the
/// call (section 3.1.2 "Send Streaming Message"). The limit `first_event_timeout_streaming` bounds the wait for a
/// silent agent.
async fn attempt(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    with: With,
    leader: Option<Leader>,
) -> Result<Feed, Error> {
    let history = request.history_length();
    let mut opening = Opening::new(shared, scope, request, with)?;
    if !opening.is_settled() {
        Box::pin(opening.settle(shared)).await?;
    }
    Ok(match opening.task_id() {
        None => {
            let Beginning { task_ref, runner, progress } =
                opening.begin(shared, shared.limits.first_event_timeout_streaming, leader)?;
            let reader = LogReader::from_start(task_ref);
            runner.detach();
            reader.begun().await?;
            Feed::new(reader, shared, Until::InputRequired(progress), [])
        }
        Some(id) => {
            let Continuation { runner, accepted, progress } = Box::pin(opening.go_on(shared, id)).await?;
            if let Some(runner) = runner {
                runner.detach();
            }
            let accepted = accepted.wait(shared).await?;
            let sequence = accepted.reader.cursor();
            let task = with_history(accepted.task, history);
            let first = StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task)));
            Feed::new(accepted.reader, shared, Until::InputRequired(progress), [Arc::new(first)])
        }
    })
}
