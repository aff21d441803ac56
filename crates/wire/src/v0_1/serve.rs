//! The plans of calls at a server. The ids of clients are replaced by ids of the server in calls, and restored in
//! answers.

mod find;
mod push;
mod send;
mod stream;

use nuncio_model::{
    Call, Caller, Error, Reply, Request, Scope,
    op::{CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest},
};

use super::{error, mark, show};
use crate::dialect::{Judging, Plan, transitions};

use find::{CallerContext, Found};

/// The plan that executes a call of 0.1 with the calls of an engine.
pub(super) fn serve(request: Request, engine: &dyn Caller) -> Plan<'_> {
    let context = CallerContext::new(engine, &request);
    let last_event = request.last_event;
    match request.call {
        Call::SendMessage(_) | Call::SendStreamingMessage(_) => Plan::Steps(Box::pin(send::send(context, request))),
        Call::GetTask(call) => Plan::Steps(Box::pin(get(context, call))),
        Call::CancelTask(call) => Plan::Steps(Box::pin(cancel(context, call))),
        Call::SubscribeToTask(call) => Plan::Steps(Box::pin(resubscribe(context, call, last_event))),
        Call::CreateTaskPushNotificationConfig(config) => Plan::Steps(Box::pin(push::set(context, config))),
        Call::GetTaskPushNotificationConfig(call) => Plan::Steps(Box::pin(push::get(context, call))),
        _ => Plan::Direct(request),
    }
}

/// Whether a call names a task that this caller created in 0.1. Calls for webhooks always belong to 0.1, because their
/// methods have different names in later versions.
pub(super) fn claims<'a>(call: &Call, scope: &Scope, engine: &'a dyn Caller) -> Judging<'a> {
    let id = match call {
        Call::GetTask(call) => call.id.clone(),
        Call::CancelTask(call) => call.id.clone(),
        Call::SubscribeToTask(call) => call.id.clone(),
        _ => return Box::pin(std::future::ready(true)),
    };
    let context = CallerContext::new(engine, &Request::new(scope.clone(), call.clone()));
    Box::pin(async move { context.has_created(&id).await })
}

async fn get(context: CallerContext<'_>, call: GetTaskRequest) -> Result<Reply, Error> {
    let Found { mut task, .. } = context.find(&call.id).await?;
    if let Some(most) = transitions::asked(call.history_length) {
        task = context.log().add_statuses(task, most, mark::name).await;
    }
    Ok(Reply::Task(show::task(task, &call.id, call.history_length)))
}

async fn cancel(context: CallerContext<'_>, call: CancelTaskRequest) -> Result<Reply, Error> {
    let client_id = call.id.clone();
    let id = context.find(&client_id).await?.task.id.clone();
    let reply = context.call(CancelTaskRequest { id: id.clone(), ..call }).await;
    match reply.map_err(|error| show::error(error, &id, &client_id))? {
        Reply::Task(task) => Ok(Reply::Task(show::task(task, &client_id, Some(0)))),
        reply => Ok(reply),
    }
}

/// The stream begins with the current state of the task, because 0.1 has no other way to catch up (`tasks/resubscribe`
/// leaves a backfill to the implementation). If the client names the last event that it received, the stream begins
/// after that event. If the task has ended and its events are gone, the stream has only the current state.
async fn resubscribe(
    context: CallerContext<'_>,
    call: SubscribeToTaskRequest,
    last_event: Option<u64>,
) -> Result<Reply, Error> {
    let client_id = call.id.clone();
    let Found { task, .. } = context.find(&client_id).await?;
    let id = task.id.clone();
    let request = context.request_of(SubscribeToTaskRequest { id: id.clone(), ..call });
    match context.execute(Request { last_event, ..request }).await {
        Ok(Reply::Events(events)) => {
            let seen = last_event.map(|_| &*task);
            Ok(Reply::Events(stream::watched(events, id, client_id, seen)))
        }
        Ok(reply) => Ok(reply),
        Err(error) if error::is_about_a_task(&error) => match context.read(&id).await? {
            Some(task) => Ok(Reply::Events(stream::ended(&task, client_id))),
            None => Err(Error::task_not_found(client_id.as_str())),
        },
        Err(error) => Err(streaming(show::error(error, &id, &client_id))),
    }
}

/// Adds a fact to the error of a streaming operation. An `UnsupportedOperation` error without a task means that the
/// agent does not stream.
fn streaming(error: Error) -> Error {
    if error.kind() == nuncio_model::ErrorKind::UnsupportedOperation && !error::is_about_a_task(&error) {
        let (name, value) = error::NO_STREAMING;
        return error.with_metadata(name, value);
    }
    error
}
