//! The interface to webhooks: the guard of URLs. The dispatcher reads the outbox of the store.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use nuncio_model::{Error, ErrorKind, PushConfigId, Scope, TaskId, TaskPushNotificationConfig};
use tokio::sync::Mutex;

use crate::{
    shared::Shared,
    store::{PushConfig, StoreError},
};

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

/// Locks for additions of webhooks: this node adds the webhooks of a task one after another.
pub(crate) struct Additions([Mutex<Undoable>; PLACES]);

/// The number of locks. Tasks share locks by their ids.
const PLACES: usize = 64;

/// The additions that can still be undone.
type Undoable = Vec<Weak<Addition>>;

/// The scope, the task and the id of a webhook that was added.
type Addition = (Scope, TaskId, PushConfigId);

impl Default for Additions {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Additions {
    fn place(&self, task: &TaskId) -> &Mutex<Undoable> {
        let sum = task.as_str().bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        &self.0[sum % PLACES]
    }
}

/// A webhook that was added, and the webhook that it replaced.
pub(crate) struct Added {
    pub(crate) config: TaskPushNotificationConfig,
    format: Option<Box<str>>,
    before: Option<PushConfig>,
    addition: Arc<Addition>,
}

impl Added {
    /// Removes the webhook again, because the message with which the webhook came was refused. A webhook that was replaced
    /// or changed meanwhile stays: another caller has the confirmation of its addition. A failure is only logged, because
    /// the caller gets the error of the message.
    pub(crate) async fn undo(self, shared: &Shared) {
        let place = shared.additions.place(&self.addition.1).lock().await;
        // An equal webhook, for example of a repeated message, is also an addition of its own.
        let is_last = place.iter().any(|other| other.as_ptr() == Arc::as_ptr(&self.addition));
        if is_last {
            self.remove(shared).await;
        }
    }

    /// Removes the webhook, if the store still has the webhook as it was added. The caller holds the lock of the place.
    async fn remove(self, shared: &Shared) {
        let Self { config, format, before, addition } = self;
        let (scope, task, id) = &*addition;
        let removed = async {
            let stored = shared.store.push_configs(scope, task).await?.unwrap_or_default();
            if !stored.iter().any(|stored| stored.config == config && stored.format == format) {
                return Ok(false);
            }
            match before {
                Some(before) => shared.store.put_push_config(scope, before).await,
                None => shared.store.delete_push_config(scope, task, id).await,
            }
        };
        if let Err(error) = removed.await {
            let error: &StoreError = &error;
            let error = error as &dyn std::error::Error;
            tracing::warn!(%task, error, "push: cannot remove the webhook of a refused message; it stays");
        }
    }
}

/// Adds a checked configuration to a task, or replaces the configuration with the same id. The webhook receives the
/// events from now on.
///
/// Fails with `ResourceExhausted` if the task has the greatest number of configurations. If nodes share the store, another
/// node can add a configuration at the same time. Then the new configuration is removed again.
pub(crate) async fn add(
    shared: &Shared,
    scope: &Scope,
    task: &TaskId,
    mut config: TaskPushNotificationConfig,
    format: Option<&'static str>,
) -> Result<Added, Error> {
    let most = shared.limits.push_configs;
    let id = name(&mut config, task).clone();
    let mut place = shared.additions.place(task).lock().await;
    let known = known(shared, scope, task).await?;
    let count = known.len();
    let before = known.into_iter().find(|other| other.config.id.as_ref() == Some(&id));
    if before.is_none() && count >= most {
        return Err(too_many(task, count));
    }
    // The store sets the first record to deliver.
    let format = format.map(Box::from);
    let stored = PushConfig { config: config.clone(), format: format.clone(), delivered: u64::MAX };
    if !shared.store.put_push_config(scope, stored).await? {
        return Err(Error::task_not_found(task.as_str()));
    }
    let addition = Arc::new((scope.clone(), task.clone(), id));
    // The new webhook replaces earlier ones with its id: their additions can no longer be undone.
    place.retain(|other| other.upgrade().is_some_and(|other| other != addition));
    place.push(Arc::downgrade(&addition));
    let added = Added { config, format, before, addition };
    if added.before.is_none() && shared.store.cluster().is_some() {
        let count = self::known(shared, scope, task).await?.len();
        if count > most {
            added.remove(shared).await;
            return Err(too_many(task, most));
        }
    }
    tell_of_ended(shared, scope, task).await;
    Ok(added)
}

fn too_many(task: &TaskId, count: usize) -> Error {
    let message = format!("task {task} has {count} push configurations; delete one first");
    Error::new(ErrorKind::ResourceExhausted, message).with_metadata("limit", "push_configs")
}

/// Logs that a webhook was added to a task that has ended. The specification has no error for that (section 3.1.7,
/// Create Push Notification Config), and in version 0.1 a task that is opened again takes the webhook over.
async fn tell_of_ended(shared: &Shared, scope: &Scope, task: &TaskId) {
    if tracing::enabled!(tracing::Level::DEBUG)
        && let Ok(Some(stored)) = shared.store.load(scope, task).await
        && stored.task.state().is_terminal()
    {
        tracing::debug!(%task, state = stored.task.state().short(), "push: a webhook was added to a task that has ended");
    }
}
