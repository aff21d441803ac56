//! Tasks whose id is settled before they begin: founded in the store, then handed their first message like any other.

use std::{mem, sync::Arc};

use nuncio_limit::not_now;
use nuncio_model::{Begins, ContextId, Error, ErrorKind, Scope, StreamResponse, Task, TaskId};
use tokio::sync::oneshot;

use crate::{
    record::Record,
    shared::Shared,
    store::{Commit, PushConfig, StoreError},
};

/// A task that was founded, until a message has begun it. Dropped before that, the task is given up: it is settled like
/// one whose runner is gone, so that none is submitted for ever.
pub(crate) struct Founding {
    shared: Arc<Shared>,
    scope: Scope,
    id: TaskId,
    begun: bool,
}

impl Founding {
    /// The message that begins it is in the log.
    pub(crate) fn begun(mut self) {
        self.begun = true;
    }
}

impl Drop for Founding {
    fn drop(&mut self) {
        if !mem::replace(&mut self.begun, true) {
            self.shared.abandon(&self.scope, &self.id);
        }
    }
}

/// Makes sure that a task with this id is there; gives it where it was not.
///
/// The store decides who of several callers founds it, and the others go on with it. Fails with `TaskNotFound` where
/// the id is that of a task of another scope.
pub(crate) async fn found(
    shared: &Arc<Shared>,
    scope: &Scope,
    begins: &Begins,
    context: Option<&ContextId>,
) -> Result<Option<Founding>, Error> {
    match shared.attach(scope, &begins.id).await {
        Err(error) if error.kind() == ErrorKind::TaskNotFound => {}
        outcome => return outcome.map(|_| None),
    }
    shared.turn_may_begin(scope)?;
    // Before there is anything to give up: somebody else may found it meanwhile.
    let webhooks = webhooks(shared, scope, begins).await?;
    let founding = Founding { shared: Arc::clone(shared), scope: scope.clone(), id: begins.id.clone(), begun: false };
    let (sender, founded) = oneshot::channel();
    let commit = first_commit(scope, begins, context, webhooks);
    // On its own, as the caller may leave while the commit still waits for its turn: the task is given up once it is
    // there.
    Shared::spawn(async move {
        // Nobody waits any more where it cannot be told; then what was founded is given up.
        drop(sender.send(write(founding, commit).await));
    });
    match founded.await {
        Ok(Ok(None)) => shared.attach(scope, &begins.id).await.map(|_| None),
        Ok(outcome) => outcome,
        Err(_) => Err(not_now("the task store failed; try again")),
    }
}

/// Writes the task; gives nothing where somebody else was faster, if it is there now.
async fn write(founding: Founding, commit: Commit) -> Result<Option<Founding>, Error> {
    match founding.shared.store.commit(commit).await {
        Ok(_) => {
            founding.shared.early.forget(&founding.scope, &founding.id);
            Ok(Some(founding))
        }
        Err(StoreError::Conflict) => {
            founding.begun();
            Ok(None)
        }
        // It may have been written all the same; then it is given up.
        Err(error @ StoreError::Unavailable(_)) => Err(error.into()),
        Err(error) => {
            founding.begun();
            Err(error.into())
        }
    }
}

/// The webhooks that it is to have from its beginning: the one that came before it, or those of another task, which does
/// not go on.
async fn webhooks(shared: &Shared, scope: &Scope, begins: &Begins) -> Result<Vec<PushConfig>, Error> {
    let Some(other) = &begins.webhooks_of else {
        return Ok(shared.early.of(scope, &begins.id).into_iter().collect());
    };
    let known = shared.store.push_configs(scope, other).await?.unwrap_or_default();
    let own = |mut known: PushConfig| {
        if known.config.id.as_ref().is_some_and(|id| id.as_str() == other.as_str()) {
            known.config.id = Some(begins.id.as_str().into());
        }
        known.config.task_id = Some(begins.id.clone());
        PushConfig { delivered: 0, ..known }
    };
    Ok(known.into_iter().map(own).collect())
}

fn first_commit(scope: &Scope, begins: &Begins, context: Option<&ContextId>, push_configs: Vec<PushConfig>) -> Commit {
    let context = context.cloned().unwrap_or_else(ContextId::generate);
    let mut task = Task::new(begins.id.clone(), context.clone());
    task.metadata.clone_from(&begins.metadata);
    Commit {
        scope: scope.clone(),
        id: begins.id.clone(),
        context,
        expected: 0,
        epoch: 0,
        records: vec![Record::update(1, StreamResponse::Task(task.clone()))],
        state: task.state(),
        updated: task.status.timestamp.unwrap_or_default(),
        released: false,
        snapshot: Some(Arc::new(task)),
        push_configs,
        letters: Vec::new(),
        remember: None,
    }
}
