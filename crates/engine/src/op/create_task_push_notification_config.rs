//! `CreateTaskPushNotificationConfig` (section 3.1.7).

use std::sync::Arc;

use nuncio_model::{Error, Reply, Scope, TaskPushNotificationConfig};

use crate::{push, shared::Shared};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    config: TaskPushNotificationConfig,
    format: Option<&'static str>,
) -> Result<Reply, Error> {
    let task = config.task_id.clone().unwrap_or_default();
    let known = push::known(shared, &scope, &task).await?;
    if let Some(guard) = &shared.guard {
        guard.check(&config).await?;
    }
    let config = push::add(shared, &scope, &task, config, format, &known).await?;
    Ok(Reply::PushConfig(Box::new(config)))
}
