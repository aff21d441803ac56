//! `SendStreamingMessage` (section 3.1.2).

use std::sync::Arc;

use nuncio_model::{Error, Reply, Scope, StreamEvent, StreamResponse, op::SendMessageRequest};

use crate::{
    conversation::{Continuation, Opening, with_history},
    engine::Shared,
    feed::{Feed, Until},
    inbox::Started,
    reader::LogReader,
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    request: SendMessageRequest,
    extensions: &[Box<str>],
) -> Result<Reply, Error> {
    let history = request.history_length();
    let task_id = request.message.task_id.clone();
    let opening = Opening::new(shared, scope, request, extensions).await?;
    let feed = match task_id {
        None => {
            let (hold, runner) = opening.begin(shared, shared.limits.first_word_streaming)?;
            let reader = {
                let live = Arc::clone(hold.live());
                let mut inner = live.lock();
                LogReader::new(hold, &mut inner, 0)
            };
            runner.detach();
            Feed::new(reader, Arc::clone(&shared.store), Until::InputRequired(Started::after(0)), [])
        }
        Some(id) => {
            let (_hold, runner, accepted, started) = opening.go_on(shared, id).await?.into_pieces();
            if let Some(runner) = runner {
                runner.detach();
            }
            let accepted = Continuation::accepted(accepted).await?;
            let sequence = accepted.reader.cursor();
            let task = with_history(accepted.task, history);
            let first = StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task)));
            Feed::new(accepted.reader, Arc::clone(&shared.store), Until::InputRequired(started), [Arc::new(first)])
        }
    };
    Ok(Reply::Events(Box::pin(feed.with_history(history))))
}
