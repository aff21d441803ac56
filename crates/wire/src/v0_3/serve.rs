//! The plans that execute calls of 0.2 and 0.3 with the calls of an engine.

use std::sync::Arc;

use nuncio_model::{
    Call, Caller, Error, ErrorKind, PushConfigId, Reply, Request, StreamEvent, StreamResponse, TaskId,
    TaskPushNotificationConfig,
    op::{
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        SendMessageRequest,
    },
};

use super::stream::{Chained, UntilFinal};
use crate::dialect::{Plan, wrong_reply};

pub(super) fn serve(mut request: Request, engine: &dyn Caller) -> Plan<'_> {
    match &mut request.call {
        Call::SendMessage(send) => name_webhook(send),
        Call::SendStreamingMessage(send) => {
            name_webhook(send);
            return Plan::Steps(Box::pin(stream(request, engine)));
        }
        Call::CreateTaskPushNotificationConfig(config) => name(config, None),
        Call::SubscribeToTask(_) => return Plan::Steps(Box::pin(subscribe(request, engine))),
        Call::GetTaskPushNotificationConfig(get) if get.id.is_empty() => {
            let get = get.clone();
            return Plan::Steps(Box::pin(any_webhook(get, request, engine)));
        }
        Call::GetExtendedAgentCard(_) => return Plan::Steps(Box::pin(extended_card(request, engine))),
        _ => {}
    }
    Plan::Direct(request)
}

/// A webhook without an id gets the id of its task. Therefore a client that knows only one webhook always replaces the
/// same webhook. If the task does not exist yet, only the engine knows the id of the task.
fn name(config: &mut TaskPushNotificationConfig, task: Option<&TaskId>) {
    if config.id.is_none() {
        let task = config.task_id.as_ref().or(task);
        config.id = Some(task.map(|id| PushConfigId::from(id.as_str())).unwrap_or_default());
    }
}

fn name_webhook(send: &mut SendMessageRequest) {
    let task = send.message.task_id.as_ref();
    if let Some(config) = send.configuration.as_mut().and_then(|it| it.task_push_notification_config.as_mut()) {
        name(config, task);
    }
}

async fn stream(request: Request, engine: &dyn Caller) -> Result<Reply, Error> {
    Ok(match engine.call(request).await? {
        Reply::Events(events) => Reply::Events(UntilFinal::sent(events)),
        other => other,
    })
}

/// The stream of a task that has ended consists of the task. In 1.0 this call is an error.
async fn subscribe(request: Request, engine: &dyn Caller) -> Result<Reply, Error> {
    let Call::SubscribeToTask(subscribe) = &request.call else { return Err(wrong_reply(request.call.method())) };
    let tenant = subscribe.tenant.clone();
    let read = GetTaskRequest { tenant, ..GetTaskRequest::new(subscribe.id.clone()) };
    let read = Request { extensions: request.extensions.clone(), ..Request::new(request.scope.clone(), read) };
    let refusal = match engine.call(request).await {
        Err(error) if error.kind() == ErrorKind::UnsupportedOperation => error,
        Ok(Reply::Events(events)) => return Ok(Reply::Events(UntilFinal::watched(events))),
        other => return other,
    };
    match engine.call(read).await? {
        Reply::Task(task) if task.state().is_terminal() => {
            let event = StreamEvent::new(None, StreamResponse::Task(Arc::unwrap_or_clone(task)));
            Ok(Reply::Events(UntilFinal::watched(Chained::of(vec![Arc::new(event)], None))))
        }
        _ => Err(refusal),
    }
}

/// An absent extended card is one error in this family, whether the card declares an extended card or not.
async fn extended_card(request: Request, engine: &dyn Caller) -> Result<Reply, Error> {
    engine.call(request).await.map_err(|error| match error.kind() {
        ErrorKind::UnsupportedOperation => Error::new(ErrorKind::ExtendedAgentCardNotConfigured, error.message()),
        _ => error,
    })
}

/// The webhook with the id of the task, else the first webhook (section 7.6: `pushNotificationConfigId` is optional).
async fn any_webhook(
    get: GetTaskPushNotificationConfigRequest,
    request: Request,
    engine: &dyn Caller,
) -> Result<Reply, Error> {
    let list = ListTaskPushNotificationConfigsRequest {
        tenant: get.tenant,
        task_id: get.task_id.clone(),
        ..Default::default()
    };
    let method = request.call.method();
    let mut configs = match engine.call(Request { call: list.into(), ..request }).await? {
        Reply::PushConfigs(list) => list.configs,
        _ => return Err(wrong_reply(method)),
    };
    let named = configs.iter().position(|config| config.id.as_ref().is_some_and(|id| *id == *get.task_id.as_str()));
    if configs.is_empty() {
        return Err(Error::new(
            ErrorKind::TaskNotFound,
            format!("task {} has no push notification configuration", get.task_id),
        ));
    }
    Ok(Reply::PushConfig(Box::new(configs.swap_remove(named.unwrap_or(0)))))
}
