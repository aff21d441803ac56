//! Creates a task with a given id in the store. The task then gets its first message like any other task.

use std::{mem, sync::Arc};

use nuncio_limit::not_now;
use nuncio_model::{ContextId, Error, ErrorKind, NewTask, Scope, StreamResponse, Task, TaskId};
use tokio::sync::oneshot;

use crate::{
    record::Record,
    shared::Shared,
    store::{Commit, PushConfig, StoreError},
};

/// A task that was created before its first message. If this guard is dropped before the message is in the log, the task
/// is settled like a task without a runner, so that the task does not stay submitted forever.
pub(crate) struct Precreated {
    shared: Arc<Shared>,
    scope: Scope,
    id: TaskId,
    confirmed: bool,
}

impl Precreated {
    /// The first message of the task is in the log.
    pub(crate) fn confirm(mut self) {
        self.confirmed = true;
    }
}

impl Precreated {
    /// Adds the webhook that was registered before the task, unless the webhook was written with the task: the webhook can
    /// come while the task is written.
    async fn add_late_webhook(&self, written: &[PushConfig]) {
        let Some(late) = self.shared.early.take(&self.scope, &self.id).filter(|late| !written.contains(late)) else {
            return;
        };
        if let Err(error) = self.shared.store.put_push_config(&self.scope, late).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(task = %self.id, error, "push: cannot write the webhook of a new task; the webhook is lost");
        }
    }
}

impl Drop for Precreated {
    fn drop(&mut self) {
        if !mem::replace(&mut self.confirmed, true) {
            self.shared.settle_later(&self.scope, &self.id);
        }
    }
}

/// Makes sure that a task with this id exists. Returns a guard if this call created the task.
///
/// If several callers create the task at the same time, the store accepts one of them, and the others use its task.
/// Fails with `TaskNotFound` if a task of another scope has the id.
pub(crate) async fn precreate(
    shared: &Arc<Shared>,
    scope: &Scope,
    new_task: &NewTask,
    context: Option<&ContextId>,
) -> Result<Option<Precreated>, Error> {
    match shared.attach(scope, &new_task.id).await {
        // The recovery queue can have an erased task with this id.
        Err(error) if error.kind() == ErrorKind::TaskNotFound => shared.recovery_queue.forget(scope, &new_task.id),
        outcome => return outcome.map(|_| None),
    }
    shared.turn_may_begin(scope)?;
    // The guard must not exist yet, because another caller can create the task during this read.
    let webhooks = webhooks(shared, scope, new_task).await?;
    let precreated =
        Precreated { shared: Arc::clone(shared), scope: scope.clone(), id: new_task.id.clone(), confirmed: false };
    let (sender, written) = oneshot::channel();
    let commit = first_commit(scope, new_task, context, webhooks);
    // The commit runs in a task of its own, because the caller can leave before the commit is done. The guard then
    // settles the created task.
    Shared::spawn(async move {
        // If the caller has left, the guard in the result is dropped here.
        drop(sender.send(write(precreated, commit).await));
    });
    match written.await {
        Ok(Ok(None)) => shared.attach(scope, &new_task.id).await.map(|_| None),
        Ok(outcome) => outcome,
        Err(_) => Err(not_now("the task store failed; try again")),
    }
}

/// Writes the task. Returns `None` if another caller created the task first.
async fn write(precreated: Precreated, commit: Commit) -> Result<Option<Precreated>, Error> {
    let written = commit.push_configs.clone();
    match precreated.shared.store.commit(commit).await {
        Ok(_) => {
            precreated.add_late_webhook(&written).await;
            Ok(Some(precreated))
        }
        Err(StoreError::Conflict) => {
            precreated.add_late_webhook(&[]).await;
            precreated.confirm();
            Ok(None)
        }
        // The store may have the task nevertheless, so the guard must settle the task.
        Err(error @ StoreError::Unavailable(_)) => Err(error.into()),
        Err(error) => {
            precreated.confirm();
            Err(error.into())
        }
    }
}

/// The first webhooks of the task: the webhook that was registered before the task, or copies of the webhooks of an ended
/// task.
async fn webhooks(shared: &Shared, scope: &Scope, new_task: &NewTask) -> Result<Vec<PushConfig>, Error> {
    let Some(other) = &new_task.webhooks_of else {
        return Ok(shared.early.of(scope, &new_task.id).into_iter().collect());
    };
    let known = shared.store.push_configs(scope, other).await?.unwrap_or_default();
    let own = |mut known: PushConfig| {
        if known.config.id.as_ref().is_some_and(|id| id.as_str() == other.as_str()) {
            known.config.id = Some(new_task.id.as_str().into());
        }
        known.config.task_id = Some(new_task.id.clone());
        PushConfig { delivered: 0, ..known }
    };
    Ok(known.into_iter().map(own).collect())
}

fn first_commit(
    scope: &Scope,
    new_task: &NewTask,
    context: Option<&ContextId>,
    push_configs: Vec<PushConfig>,
) -> Commit {
    let context = context.cloned().unwrap_or_else(ContextId::generate);
    let mut task = Task::new(new_task.id.clone(), context.clone());
    task.metadata.clone_from(&new_task.metadata);
    Commit {
        scope: scope.clone(),
        id: new_task.id.clone(),
        context,
        expected: 0,
        epoch: 0,
        records: vec![Record::update(1, StreamResponse::Task(task.clone()))],
        state: task.state(),
        updated: task.status.timestamp.unwrap_or_default(),
        released: false,
        snapshot: Some(Arc::new(task)),
        push_configs,
        acks: Vec::new(),
        remember: None,
    }
}
