//! `CreateTaskPushNotificationConfig` (section 3.1.7).

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, PushConfigId, Reply, Scope, TaskPushNotificationConfig};

use crate::{engine::Shared, store::PushConfig};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: &Scope,
    mut config: TaskPushNotificationConfig,
) -> Result<Reply, Error> {
    let task = config.task_id.clone().unwrap_or_default();
    let not_found = || Error::task_not_found(task.as_str());
    let known = shared.store.push_configs(scope, &task).await?.ok_or_else(not_found)?;
    if let Some(guard) = &shared.guard {
        guard.check(&config).await?;
    }
    let id = config.id.get_or_insert_with(PushConfigId::generate);
    let replaces = known.iter().any(|other| other.config.id.as_ref() == Some(id));
    if !replaces && known.len() >= shared.limits.push_configs {
        return Err(Error::new(
            ErrorKind::ResourceExhausted,
            format!("task {task} has {} push configurations; delete one first", known.len()),
        ));
    }
    // It is owed what comes from now on; the store knows where that begins.
    let owed = PushConfig { config: config.clone(), delivered: u64::MAX };
    if !shared.store.put_push_config(scope, owed).await? {
        return Err(not_found());
    }
    Ok(Reply::PushConfig(Box::new(config)))
}
