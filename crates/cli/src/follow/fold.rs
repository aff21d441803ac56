//! What the events of a stream add up to.

use nuncio_engine::{Record, lifecycle};
use nuncio_model::{StreamResponse, Task, TaskId};

/// A task folded from its events.
#[derive(Debug, Default)]
pub(super) struct Fold(Option<Task>);

impl Fold {
    pub(super) fn task(&self) -> Option<&Task> {
        self.0.as_ref()
    }

    pub(super) fn into_task(self) -> Option<Task> {
        self.0
    }

    /// Applies an event. An impossible event is ignored.
    pub(super) fn apply(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => self.0 = Some(task.clone()),
            StreamResponse::Message(_) => {}
            StreamResponse::StatusUpdate(update) => self.add(&update.task_id, &update.context_id, event),
            StreamResponse::ArtifactUpdate(update) => self.add(&update.task_id, &update.context_id, event),
        }
    }

    fn add(&mut self, id: &TaskId, context: &nuncio_model::ContextId, event: &StreamResponse) {
        let task = self.0.get_or_insert_with(|| Task::new(id.clone(), context.clone()));
        if let Err(error) = lifecycle::apply(task, &Record::update(0, event.clone())) {
            tracing::debug!(%error, "an event that does not fit its task");
        }
    }
}
