//! `CreateTaskPushNotificationConfig` (section 3.1.7).

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope, TaskPushNotificationConfig};

use super::With;
use crate::{push, shared::Shared, store::PushConfig};

/// A webhook of a future task with a given id is stored until the first message arrives.
pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    config: TaskPushNotificationConfig,
    with: With,
) -> Result<Reply, Error> {
    let task = config.task_id.clone().unwrap_or_default();
    let is_known = match push::known(shared, &scope, &task).await {
        Err(error) if error.kind() == ErrorKind::TaskNotFound && with.new_task.is_some() => false,
        known => known.map(|_| true)?,
    };
    if let Some(guard) = &shared.guard {
        guard.check(&config).await?;
    }
    let config = if is_known {
        push::add(shared, &scope, &task, config, with.push_format).await?.config
    } else {
        let mut config = config;
        push::name(&mut config, &task);
        let early = PushConfig { config: config.clone(), format: with.push_format.map(Box::from), delivered: 0 };
        shared.early.keep(&scope, &task, early, &shared.limits)?;
        // If the task was created since the first look, it has not taken the stored webhook.
        match push::known(shared, &scope, &task).await {
            Ok(_) => push::add(shared, &scope, &task, config, with.push_format).await?.config,
            Err(_) => config,
        }
    };
    Ok(Reply::PushConfig(Box::new(config)))
}
