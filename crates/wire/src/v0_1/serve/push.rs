//! The webhook of a task. In 0.1 each task has at most one webhook.

use nuncio_model::{
    Error, ErrorKind, NewTask, PushConfigId, Reply, TaskId, TaskPushNotificationConfig,
    op::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    },
};

use super::{CallerContext, show};

/// Sets the webhook, or removes the webhook if the configuration has no address.
pub(super) async fn set(context: CallerContext<'_>, mut config: TaskPushNotificationConfig) -> Result<Reply, Error> {
    let client_id = config.task_id.take().unwrap_or_default();
    let Some(found) = context.find_any(&client_id).await? else {
        return set_before_task(&context, client_id, config).await;
    };
    let task = found.task.id.clone();
    let id = PushConfigId::from(task.as_str());
    let outcome = if config.url.is_empty() {
        let known = list(&context, &task).await;
        let known = known.map(|configs| of_task(configs, &task).and_then(|config| config.id));
        match known {
            Ok(None) => Ok(none()),
            Ok(Some(id)) => remove(&context, task.clone(), id).await,
            Err(error) => Err(error),
        }
    } else {
        config.id = Some(id);
        config.task_id = Some(task.clone());
        context.call(config).await
    };
    Ok(shown(outcome.map_err(|error| show::error(error, &task, &client_id))?, client_id))
}

/// Sets the webhook of a task that does not exist yet. The server stores the webhook until the first message arrives.
async fn set_before_task(
    context: &CallerContext<'_>,
    client_id: TaskId,
    mut config: TaskPushNotificationConfig,
) -> Result<Reply, Error> {
    if config.url.is_empty() {
        return Err(Error::task_not_found(client_id.as_str()));
    }
    let id = context.id(&client_id, 1);
    config.id = Some(PushConfigId::from(id.as_str()));
    config.task_id = Some(id.clone());
    let mut request = context.request_of(config);
    request.new_task = Some(Box::new(NewTask { id: id.clone(), metadata: None, webhooks_of: None }));
    let outcome = context.execute(request).await.map_err(|error| show::error(error, &id, &client_id));
    Ok(shown(outcome?, client_id))
}

async fn remove(context: &CallerContext<'_>, task_id: TaskId, id: PushConfigId) -> Result<Reply, Error> {
    match context.call(DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }).await {
        // Another caller removed the webhook first.
        Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(none()),
        outcome => outcome.map(|_| none()),
    }
}

/// The webhook of the task, without its secrets.
pub(super) async fn get(
    context: CallerContext<'_>,
    call: GetTaskPushNotificationConfigRequest,
) -> Result<Reply, Error> {
    let client_id = call.task_id;
    let task = context.find(&client_id).await?.task.id.clone();
    let configs = list(&context, &task).await.map_err(|error| show::error(error, &task, &client_id))?;
    let config = of_task(configs, &task).map_or_else(none, |config| Reply::PushConfig(Box::new(config)));
    Ok(shown(config, client_id))
}

async fn list(context: &CallerContext<'_>, task_id: &TaskId) -> Result<Vec<TaskPushNotificationConfig>, Error> {
    let call = ListTaskPushNotificationConfigsRequest { task_id: task_id.clone(), ..Default::default() };
    Ok(ListTaskPushNotificationConfigsResponse::try_from(context.call(call).await?)?.configs)
}

/// The webhook that has the id of the task. If there is none, the first webhook, because callers of other versions can
/// have set webhooks with other ids.
fn of_task(mut configs: Vec<TaskPushNotificationConfig>, task: &TaskId) -> Option<TaskPushNotificationConfig> {
    let is_of_task =
        |config: &TaskPushNotificationConfig| config.id.as_ref().is_some_and(|id| id.as_str() == task.as_str());
    let place = configs.iter().position(is_of_task).unwrap_or(0);
    (!configs.is_empty()).then(|| configs.swap_remove(place))
}

fn none() -> Reply {
    Reply::PushConfig(Box::default())
}

fn shown(reply: Reply, client_id: TaskId) -> Reply {
    match reply {
        Reply::PushConfig(mut config) => {
            config.task_id = Some(client_id);
            Reply::PushConfig(config)
        }
        reply => reply,
    }
}
