//! The plans of calls at a client. The client makes the ids of its tasks, and completes answers with facts that 0.1
//! does not transmit.

mod stream;

use std::{future::poll_fn, sync::Arc};

use nuncio_model::{
    Call, Caller, ContextId, Error, ErrorKind, Message, PushConfigId, Reply, Request, StreamResponse, Task, TaskId,
    op::{GetTaskRequest, SendMessageRequest, SendStreamingMessageRequest},
};
use uuid::Uuid;

use crate::dialect::{
    Plan,
    join::{Joined, join},
    no_list,
};

/// The plan that executes a call with the calls of a 0.1 peer.
pub(super) fn ask(request: Request, peer: &dyn Caller) -> Plan<'_> {
    match &request.call {
        Call::ListTasks(_) => Plan::Steps(Box::pin(std::future::ready(Err(no_list())))),
        Call::SendMessage(_) => Plan::Steps(Box::pin(send(request, peer))),
        Call::SendStreamingMessage(_) => Plan::Steps(Box::pin(send_streaming(request, peer))),
        Call::GetTask(call) => {
            let limit = call.history_length;
            Plan::Steps(Box::pin(async move { Ok(limited(peer.call(request).await?, limit)) }))
        }
        Call::SubscribeToTask(call) => {
            let id = call.id.clone();
            Plan::Steps(Box::pin(subscribe(request, id, peer)))
        }
        Call::CreateTaskPushNotificationConfig(config) => {
            let id = config.id.clone();
            Plan::Steps(Box::pin(async move { Ok(under(peer.call(request).await?, id)) }))
        }
        Call::GetTaskPushNotificationConfig(call) => {
            let (task, id) = (call.task_id.clone(), call.id.clone());
            Plan::Steps(Box::pin(async move { push_config(peer.call(request).await?, &task, id) }))
        }
        _ => Plan::Direct(request),
    }
}

/// The address of a message.
struct Sent {
    task_id: TaskId,
    /// The session, if the client knows the session.
    context_id: Option<ContextId>,
    is_new: bool,
}

/// Makes a task id for a message without a task, and a session id for a new task without a session.
fn address(message: &mut Message) -> Sent {
    let is_new = message.task_id.is_none();
    let task_id = message.task_id.get_or_insert_with(|| Uuid::new_v4().to_string().into()).clone();
    if is_new {
        message.context_id.get_or_insert_with(|| Uuid::new_v4().to_string().into());
    }
    Sent { task_id, context_id: message.context_id.clone(), is_new }
}

async fn send(mut request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    let Call::SendMessage(call) = &mut request.call else { return peer.call(request).await };
    if call.returns_immediately() {
        match begin(call.clone(), &request, peer).await {
            // The peer does not stream, so the client must wait for the answer.
            Err(error) if is_no_streaming(&error) => {}
            outcome => return outcome,
        }
    }
    let Call::SendMessage(call) = &mut request.call else { return peer.call(request).await };
    let sent = address(&mut call.message);
    let limit = call.history_length();
    match limited(peer.call(request).await?, limit) {
        Reply::Task(task) => {
            let mut task = Arc::unwrap_or_clone(task);
            in_session(&mut task, sent.context_id);
            Ok(Reply::Task(Arc::new(task)))
        }
        reply => Ok(reply),
    }
}

/// Sends a message as a streaming call and leaves the stream after its first event. 0.1 has no other way to return
/// immediately.
async fn begin(call: SendMessageRequest, request: &Request, peer: &dyn Caller) -> Result<Reply, Error> {
    let limit = call.history_length();
    let call = Call::from(SendStreamingMessageRequest(call));
    let request = Request { extensions: request.extensions.clone(), ..Request::new(request.scope.clone(), call) };
    let mut events = match send_streaming(request, peer).await? {
        Reply::Events(events) => events,
        reply => return Ok(limited(reply, limit)),
    };
    match poll_fn(|cx| events.as_mut().poll_next(cx)).await.transpose()?.map(|event| event.response.clone()) {
        Some(StreamResponse::Task(task)) => Ok(limited(Reply::Task(Arc::new(task)), limit)),
        _ => Err(Error::new(ErrorKind::InvalidAgentResponse, "the stream ended without an event")),
    }
}

/// Whether an agent may have refused the stream because it does not stream. The message was not accepted and must be
/// sent again. If the refusal had another reason, the agent will refuse the message again.
fn is_no_streaming(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::MethodNotFound | ErrorKind::UnsupportedOperation)
}

async fn send_streaming(mut request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    let scope = request.scope.clone();
    let Call::SendStreamingMessage(SendStreamingMessageRequest(call)) = &mut request.call else {
        return peer.call(request).await;
    };
    let sent = address(&mut call.message);
    let base = if sent.is_new {
        Task { id: sent.task_id, context_id: sent.context_id, ..Task::default() }
    } else {
        // A stream of 1.0 begins with the task. A stream of 0.1 has only later events, so the task is read first.
        let look = get(call, sent.task_id);
        let mut task = Task::try_from(peer.call(Request::new(scope, look)).await?)?;
        in_session(&mut task, sent.context_id);
        task
    };
    match peer.call(request).await? {
        Reply::Events(events) => Ok(Reply::Events(stream::sent(events, base))),
        reply => Ok(reply),
    }
}

fn get(call: &SendMessageRequest, id: TaskId) -> GetTaskRequest {
    GetTaskRequest { tenant: call.tenant.clone(), id, history_length: call.history_length() }
}

/// A subscription of 1.0 begins with the task. 0.1 does not send the task, so the client reads it. For a task that has
/// ended, a peer can refuse the stream. After a resumption, the peer sends each missed event once, and nothing else.
async fn subscribe(mut request: Request, id: TaskId, peer: &dyn Caller) -> Result<Reply, Error> {
    if request.is_resumption() {
        return Ok(match peer.call(request).await? {
            Reply::Events(events) => Reply::Events(stream::resumed(events, Task { id, ..Task::default() })),
            reply => reply,
        });
    }
    request.last_event = None;
    let look = GetTaskRequest { tenant: request.call.tenant().cloned(), ..GetTaskRequest::new(id) };
    let look = Request::new(request.scope.clone(), look);
    let events = match peer.call(request).await {
        Ok(Reply::Events(events)) => events,
        Ok(other) => return Ok(other),
        Err(refusal) => {
            return match peer.call(look).await.and_then(Task::try_from) {
                Ok(task) if task.state().is_terminal() => Ok(Reply::Events(stream::ended(task))),
                _ => Err(refusal),
            };
        }
    };
    Ok(Reply::Events(match join(events, async { peer.call(look).await }).await? {
        Joined::Begun(events) => events,
        Joined::Read(task, _) if task.state().is_terminal() => stream::ended(*task),
        Joined::Read(task, events) => stream::watched(events, *task),
    }))
}

/// Limits the history to the requested length. Servers of 0.1 can send history that was not requested (`tasks/send`,
/// `historyLength`).
fn limited(reply: Reply, limit: Option<i32>) -> Reply {
    match (reply, limit.and_then(|limit| usize::try_from(limit).ok())) {
        (Reply::Task(task), Some(limit)) if task.history.len() > limit => {
            let mut task = Arc::unwrap_or_clone(task);
            task.limit_history(Some(limit));
            Reply::Task(Arc::new(task))
        }
        (reply, _) => reply,
    }
}

/// Sets the session of a task if the peer omits the session.
fn in_session(task: &mut Task, sent: Option<ContextId>) {
    if task.context_id.is_none() {
        task.context_id = sent;
        let context = task.context_id.clone();
        for message in task.messages_mut() {
            message.context_id.clone_from(&context);
        }
    }
}

/// Restores the id that the caller gave a configuration. 0.1 does not carry the id.
fn under(reply: Reply, id: Option<PushConfigId>) -> Reply {
    match (reply, id) {
        (Reply::PushConfig(mut config), Some(id)) => {
            config.id = Some(id);
            Reply::PushConfig(config)
        }
        (reply, _) => reply,
    }
}

fn push_config(reply: Reply, task: &TaskId, id: PushConfigId) -> Result<Reply, Error> {
    match reply {
        Reply::PushConfig(config) if config.url.is_empty() => {
            let message = format!("task {task} has no push configuration");
            Err(Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task.as_str()))
        }
        reply => Ok(under(reply, Some(id).filter(|id| !id.is_empty()))),
    }
}
