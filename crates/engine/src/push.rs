//! The interface to webhooks: the guard of URLs. The dispatcher reads the outbox of the store.

use async_trait::async_trait;
use nuncio_model::{Error, ErrorKind, PushConfigId, Scope, TaskId, TaskPushNotificationConfig};

use crate::{shared::Shared, store::PushConfig};

/// Decides whether a webhook can be registered.
#[async_trait]
pub trait PushGuard: Send + Sync + 'static {
    /// # Errors
    ///
    /// `InvalidParams` with the field and the reason, for example a forbidden scheme or address, or an invalid header
    /// value.
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error>;
}

/// The push configurations of a task.
pub(crate) async fn known(shared: &Shared, scope: &Scope, task: &TaskId) -> Result<Vec<PushConfig>, Error> {
    shared.store.push_configs(scope, task).await?.ok_or_else(|| Error::task_not_found(task.as_str()))
}

/// Adds the id of the task to a configuration, and returns the id of the configuration. An empty id becomes the id of
/// the task, and a missing id is generated.
pub(crate) fn name<'config>(config: &'config mut TaskPushNotificationConfig, task: &TaskId) -> &'config PushConfigId {
    config.task_id = Some(task.clone());
    let id = config.id.get_or_insert_with(PushConfigId::generate);
    if id.is_empty() {
        *id = PushConfigId::from(task.as_str());
    }
    id
}

/// Adds a checked configuration to a task that has these configurations, or replaces the configuration with the same id.
/// The webhook receives the events from now on.
pub(crate) async fn add(
    shared: &Shared,
    scope: &Scope,
    task: &TaskId,
    mut config: TaskPushNotificationConfig,
    format: Option<&'static str>,
    known: &[PushConfig],
) -> Result<TaskPushNotificationConfig, Error> {
    let id = name(&mut config, task);
    let replaces = known.iter().any(|other| other.config.id.as_ref() == Some(id));
    if !replaces && known.len() >= shared.limits.push_configs {
        return Err(Error::new(
            ErrorKind::ResourceExhausted,
            format!("task {task} has {} push configurations; delete one first", known.len()),
        )
        .with_metadata("limit", "push_configs"));
    }
    // The store sets the first record to deliver.
    let stored = PushConfig { config: config.clone(), format: format.map(Box::from), delivered: u64::MAX };
    if shared.store.put_push_config(scope, stored).await? {
        Ok(config)
    } else {
        Err(Error::task_not_found(task.as_str()))
    }
}
