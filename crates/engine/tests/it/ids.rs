//! The length and form of ids in requests.

use std::{sync::Arc, time::Duration};

use nuncio_engine::Idempotency;
use nuncio_model::{
    Call, ContextId, Error, ErrorKind, Message, MessageId, NewTask, PushConfigId, Request, Scope, TaskId,
    TaskPushNotificationConfig, Tenant,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};

use crate::{push::Anywhere, support::*};

/// The fields for which a call is refused.
async fn wrong(request: Request) -> Vec<String> {
    let engine = builder(|turn| async move { turn.complete("done").await })
        .push_guard(Arc::new(Anywhere))
        .idempotency(Idempotency::Within(Duration::from_mins(1)))
        .build();
    match within(engine.call(request)).await {
        Ok(_) => Vec::new(),
        Err(error) if error.kind() == ErrorKind::InvalidParams => fields(&error),
        Err(error) => panic!("{error}"),
    }
}

fn fields(error: &Error) -> Vec<String> {
    error.field_violations().iter().map(|violation| violation.field.clone()).collect()
}

fn to(call: impl Into<Call>) -> Request {
    Request::new(Scope::open(), call)
}

#[tokio::test]
async fn an_overlong_id_is_named_in_the_error() {
    let long = "ü".repeat(257);
    let (task, id) = (TaskId::from(&*long), PushConfigId::from(&*long));
    let hook = TaskPushNotificationConfig {
        id: Some(id.clone()),
        task_id: Some(task.clone()),
        url: "https://example.com".to_owned(),
        ..Default::default()
    };
    let mut message = Message::user("x").with_task_id(task.clone());
    message.message_id = MessageId::from(&*long);
    message.context_id = Some(ContextId::from(&*long));
    let configuration =
        SendMessageConfiguration { task_push_notification_config: Some(hook.clone()), ..Default::default() };
    let message = SendMessageRequest::new(message).with_configuration(configuration);
    let of_message = &[
        "message.messageId",
        "message.contextId",
        "message.taskId",
        "configuration.taskPushNotificationConfig.taskId",
        "configuration.taskPushNotificationConfig.id",
    ][..];
    let list = ListTasksRequest { context_id: Some(ContextId::from(&*long)), ..Default::default() };
    let get = GetTaskPushNotificationConfigRequest { task_id: task.clone(), id: id.clone(), ..Default::default() };
    let hooks = ListTaskPushNotificationConfigsRequest { task_id: task.clone(), ..Default::default() };
    let delete = DeleteTaskPushNotificationConfigRequest { task_id: task.clone(), id, ..Default::default() };
    let mut of_tenant = to(SendMessageRequest::new(Message::user("x")));
    of_tenant.scope.tenant = Tenant::from(&*long);
    let mut creates = to(SendMessageRequest::new(Message::user("x")));
    creates.new_task = Some(Box::new(NewTask { id: task.clone(), metadata: None, webhooks_of: None }));
    for (request, expected) in [
        (to(message.clone()), of_message),
        (to(SendStreamingMessageRequest(message)), of_message),
        (to(GetTaskRequest::new(task.clone())), &["id"]),
        (to(CancelTaskRequest::new(task.clone())), &["id"]),
        (to(SubscribeToTaskRequest::new(task)), &["id"]),
        (to(list), &["contextId"]),
        (to(hook), &["taskId", "id"]),
        (to(get), &["taskId", "id"]),
        (to(hooks), &["taskId"]),
        (to(delete), &["taskId", "id"]),
        (of_tenant, &["tenant"]),
        (creates, &["id"]),
    ] {
        let method = request.call.method();
        assert_eq!(wrong(request).await, expected, "{method:?}");
    }
}

#[tokio::test]
async fn an_id_of_the_maximum_length_is_accepted() {
    let mut message = Message::user("x");
    message.message_id = MessageId::from("i".repeat(512));
    message.context_id = Some(ContextId::from("c".repeat(512)));
    let mut request = to(SendMessageRequest::new(message));
    request.scope.tenant = Tenant::from("t".repeat(512));
    request.new_task = Some(Box::new(NewTask { id: TaskId::from("b".repeat(512)), metadata: None, webhooks_of: None }));
    assert!(wrong(request).await.is_empty());
}

#[tokio::test]
async fn an_overlong_field_of_a_webhook_is_named_in_the_error() {
    let hook = |length: usize| TaskPushNotificationConfig {
        task_id: Some("t".into()),
        url: format!("https://example.com/{}", "x".repeat(length - 20)),
        token: Some("x".repeat(length)),
        authentication: Some(nuncio_model::AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("x".repeat(length)),
        }),
        ..Default::default()
    };
    assert_eq!(wrong(to(hook(2_049))).await, ["url", "token", "authentication.credentials"]);
    let send = |length| {
        let configuration =
            SendMessageConfiguration { task_push_notification_config: Some(hook(length)), ..Default::default() };
        to(SendMessageRequest::new(Message::user("x")).with_configuration(configuration))
    };
    assert_eq!(wrong(send(2_048)).await, [""; 0]);
    assert_eq!(wrong(send(2_049)).await[0], "configuration.taskPushNotificationConfig.url");
}
