//! `SendStreamingMessage` (section 3.1.2).

use std::sync::Arc;

use nuncio_model::{Error, Reply, Scope, StreamEvent, StreamResponse, op::SendMessageRequest};

use crate::{
    conversation::{Beginning, Continuation, Opening, accepted, with_history},
    feed::{Feed, Until},
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
    let opening = Opening::new(shared, scope, request, with).await?;
    let feed = match opening.task_id() {
        None => {
            let Beginning { hold, runner, course } = opening.begin(shared, shared.limits.first_word_streaming)?;
            let reader = LogReader::from_start(hold);
            runner.detach();
            Feed::new(reader, Arc::clone(&shared.store), Until::InputRequired(course), [])
        }
        Some(id) => {
            let Continuation { runner, accepted: receiver, course } = opening.go_on(shared, id).await?;
            if let Some(runner) = runner {
                runner.detach();
            }
            let accepted = accepted(receiver).await?;
            let sequence = accepted.reader.cursor();
            let task = with_history(accepted.task, history);
            let first = StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task)));
            Feed::new(accepted.reader, Arc::clone(&shared.store), Until::InputRequired(course), [Arc::new(first)])
        }
    };
    Ok(Reply::Events(Box::pin(feed.with_history(history))))
}
