//! The input of a program: the request, and possibly a cancellation.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Task, TaskId, op::SendMessageRequest};
use serde::Serialize;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};
use tokio_util::sync::CancellationToken;

/// The first line: the request with up to three additional members.
#[derive(Debug, Serialize)]
struct Opening<'a> {
    #[serde(flatten)]
    request: &'a SendMessageRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a Task>,
    context: Vec<TaskId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resumed: bool,
}

/// The first line for a turn, with its line break.
pub(super) async fn line(turn: &Turn) -> Result<Vec<u8>, AgentError> {
    let context = turn.context_ids().await?;
    let (request, task, resumed) = (turn.request(), turn.task(), turn.resumed().is_some());
    let mut line = serde_json::to_vec(&Opening { request, task, context, resumed })?;
    line.push(b'\n');
    Ok(line)
}

/// Writes the first line, then the cancellation if `told` is cancelled, and closes stdin if `closed` is cancelled. A
/// program may ignore its input, so a write error is not a failure.
pub(super) async fn write(mut stdin: ChildStdin, opening: &[u8], told: &CancellationToken, closed: &CancellationToken) {
    let write = async {
        stdin.write_all(opening).await?;
        told.cancelled().await;
        stdin.write_all(b"{\"cancel\":{}}\n").await?;
        std::future::pending::<std::io::Result<()>>().await
    };
    tokio::select! {
        _ = write => {}
        () = closed.cancelled() => {}
    }
}
