//! `tasks/send`: a message continues the task of the client's id, creates the task, or reopens a task that has ended.

use std::sync::Arc;

use nuncio_model::{
    Call, Error, NewTask, PushConfigId, Reply, Request, Task, TaskId,
    op::{SendMessageRequest, SendStreamingMessageRequest},
};

use super::{CallerContext, Found, stream, streaming};
use crate::v0_1::{error, event, mark::Mark, show, task::numbered};

/// The maximum number of attempts. An attempt fails if the task ends between the lookup and the delivery of the
/// message. Each failed attempt means that another message was delivered, so many concurrent messages can cause many
/// failures.
const ATTEMPTS: u32 = 256;

pub(super) async fn send(context: CallerContext<'_>, request: Request) -> Result<Reply, Error> {
    let client_id = message_of(&request.call).and_then(|it| it.message.task_id.clone()).unwrap_or_default();
    let mut attempts = 1..ATTEMPTS;
    loop {
        let mut request = request.clone();
        let history = message_of(&request.call).and_then(SendMessageRequest::history_length);
        let id = address(&context, &client_id, &mut request).await?;
        match context.execute(request).await {
            Ok(reply) => return Ok(shown(reply, id, client_id, history)),
            // The task has ended in the meantime, so the next attempt reopens it.
            Err(error) if error::is_about_a_task(&error) && attempts.next().is_some() => {}
            Err(error) => return Err(streaming(show::error(error, &id, &client_id))),
        }
    }
}

fn message_of(call: &Call) -> Option<&SendMessageRequest> {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(SendStreamingMessageRequest(request)) => Some(request),
        _ => None,
    }
}

/// Addresses a request to the task of the client's id, and returns the server's id of the task.
async fn address(context: &CallerContext<'_>, client_id: &TaskId, request: &mut Request) -> Result<TaskId, Error> {
    let found = context.find_any(client_id).await?;
    let (Call::SendMessage(send) | Call::SendStreamingMessage(SendStreamingMessageRequest(send))) = &mut request.call
    else {
        return Ok(client_id.clone());
    };
    let message = &mut send.message;
    message.task_id = None;
    if let Some(Found { task, .. }) = &found {
        // A task keeps its session, even if the client names another. The answer has the session of the task.
        message.context_id.clone_from(&task.context_id);
    }
    let (generation, continues) = match found {
        Some(Found { task, .. }) if !task.state().is_terminal() => {
            message.task_id = Some(task.id.clone());
            return Ok(name_webhook(send, &task.id));
        }
        Some(Found { generation, task }) => {
            message.reference_task_ids.push(task.id.clone());
            (generation.saturating_add(1), Some(task.id.clone()))
        }
        None => (1, None),
    };
    let id = context.id(client_id, generation);
    let webhooks_of = continues.clone();
    let mark = Mark { client_id: client_id.as_str().into(), generation, continues };
    let metadata = Some(Box::new(mark.into_metadata()));
    request.new_task = Some(Box::new(NewTask { id: id.clone(), metadata, webhooks_of }));
    Ok(name_webhook(send, &id))
}

/// Gives the webhook of a message the id of the task, so that it replaces the previous webhook.
fn name_webhook(send: &mut SendMessageRequest, id: &TaskId) -> TaskId {
    let webhook = send.configuration.as_mut().and_then(|it| it.task_push_notification_config.as_mut());
    if let Some(config) = webhook {
        config.id = Some(PushConfigId::from(id.as_str()));
    }
    id.clone()
}

fn shown(reply: Reply, id: TaskId, client_id: TaskId, history: Option<i32>) -> Reply {
    match reply {
        Reply::Task(task) => Reply::Task(show::task(task, &client_id, history)),
        // 0.1 has no direct answers. The answer becomes a completed task with one artifact.
        Reply::Message(message) => {
            let artifact = nuncio_model::Artifact::new(numbered(0), message.parts.clone());
            Reply::Task(Arc::new(Task {
                id: client_id,
                context_id: message.context_id.clone(),
                status: event::answered(&message),
                artifacts: vec![artifact],
                ..Task::default()
            }))
        }
        Reply::Events(events) => Reply::Events(stream::sent(events, id, client_id)),
        reply => reply,
    }
}
