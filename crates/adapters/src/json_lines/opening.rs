//! What a program reads: the request, and later perhaps a cancel.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Task, TaskId, op::SendMessageRequest};
use serde::Serialize;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};
use tokio_util::sync::CancellationToken;

/// The first line: the request with up to three members more.
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

/// Writes the first line, then the cancel when the program is to be told, and ends stdin when it is closed. A program
/// that does not read is in its right.
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
