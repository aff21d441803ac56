//! An echo agent on the official Rust SDK: JSON-RPC at `/`, tasks in memory. It prints its address and serves until it is
//! killed. A task has the same three events as the `echo` of Nuncio's demo agent.

use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Message, Part, PartContent, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, jsonrpc::jsonrpc_router};
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
        let artifact = Artifact {
            artifact_id: "echo-1".into(),
            name: None,
            description: None,
            parts: vec![Part::text(text.clone())],
            metadata: None,
            extensions: None,
        };
        let said = Message::new(Role::Agent, vec![Part::text(format!("echo: {text}"))]);
        let events = [
            StreamResponse::Task(Task {
                id: task_id.clone(),
                context_id: context_id.clone(),
                status: status(TaskState::Submitted, None),
                artifacts: None,
                history: message.map(|message| vec![message]),
                metadata: None,
            }),
            update(status(TaskState::Working, None)),
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task_id.clone(),
                context_id: context_id.clone(),
                artifact,
                append: None,
                last_chunk: Some(true),
                metadata: None,
            }),
            update(status(TaskState::Completed, Some(said))),
        ];
        stream::iter(events.map(Ok)).boxed()
    }

    fn cancel(&self, _context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let handler = Arc::new(DefaultRequestHandler::new(Echo, InMemoryTaskStore::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, jsonrpc_router(handler)).await
}
