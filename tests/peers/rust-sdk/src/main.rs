//! An echo agent on the official Rust SDK: JSON-RPC at `/`, tasks in memory, webhooks. It prints its address and serves
//! until it is killed. An `echo` has the same three events as that of Nuncio's demo agent; `stream N every=200` writes N chunks,
//! one every 200 ms.

use std::{sync::Arc, time::Duration};

use a2a::{
    A2AError, Artifact, Message, Part, PartContent, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, HttpPushSender, HttpPushSenderConfig, InMemoryPushConfigStore,
    InMemoryTaskStore, jsonrpc::jsonrpc_router,
};
use futures::stream::{self, BoxStream, StreamExt as _};

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let (task_id, context_id) = context.task_info();
        let message = context.message;
        let text: String = message
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match &part.content {
                PartContent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let text = text.strip_prefix("echo ").unwrap_or(&text).to_owned();
        let status = |state, message| TaskStatus { state, message, timestamp: None };
        let update = |status| {
            let (task_id, context_id) = (task_id.clone(), context_id.clone());
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata: None })
        };
        let artifact = |id: &str, text: String, append| {
            let (task_id, context_id) = (task_id.clone(), context_id.clone());
            let artifact = Artifact {
                artifact_id: id.into(),
                name: None,
                description: None,
                parts: vec![Part::text(text)],
                metadata: None,
                extensions: None,
            };
            let last_chunk = None;
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata: None,
            })
        };
        let said = Message::new(Role::Agent, vec![Part::text(format!("echo: {text}"))]);
        let begin = [
            StreamResponse::Task(Task {
                id: task_id.clone(),
                context_id: context_id.clone(),
                status: status(TaskState::Submitted, None),
                artifacts: None,
                history: message.map(|message| vec![message]),
                metadata: None,
            }),
            update(status(TaskState::Working, None)),
        ];
        if let Some(count) = text.strip_prefix("stream ").and_then(chunks) {
            let chunks: Vec<_> =
                (0..count).map(|it| artifact("stream-1", format!("chunk {}\n", it + 1), Some(it > 0))).collect();
            let slow = stream::iter(chunks).then(async |chunk| {
                tokio::time::sleep(Duration::from_millis(200)).await;
                chunk
            });
            let end = stream::iter([update(status(TaskState::Completed, None))]);
            return stream::iter(begin).chain(slow).chain(end).map(Ok).boxed();
        }
        let end = [artifact("echo-1", text.clone(), None), update(status(TaskState::Completed, Some(said)))];
        stream::iter(begin).chain(stream::iter(end)).map(Ok).boxed()
    }

    fn cancel(&self, _context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let sender = HttpPushSender::new(Some(HttpPushSenderConfig { validate_urls: false, ..Default::default() }));
    let handler = DefaultRequestHandler::new(Echo, InMemoryTaskStore::new());
    let handler = Arc::new(handler.with_push_notifications(InMemoryPushConfigStore::new(), sender));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, jsonrpc_router(handler)).await
}

/// The number of chunks in `N every=200`.
fn chunks(text: &str) -> Option<usize> {
    text.split_whitespace().next()?.parse().ok()
}
