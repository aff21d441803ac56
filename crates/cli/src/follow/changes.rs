//! The events between two states of a task.

use nuncio_model::{Artifact, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};

/// The events between two looks. The first look is the task itself.
pub(super) fn between(before: Option<&Task>, after: &Task) -> Vec<StreamResponse> {
    let Some(before) = before else { return vec![StreamResponse::Task(after.clone())] };
    let mut events = Vec::new();
    let context_id = after.context_id.clone().unwrap_or_default();
    for artifact in &after.artifacts {
        let known = before.artifacts.iter().find(|known| known.artifact_id == artifact.artifact_id);
        let Some((artifact, append)) = news(known, artifact) else { continue };
        events.push(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: after.id.clone(),
            context_id: context_id.clone(),
            artifact,
            append,
            last_chunk: after.state().is_terminal(),
            metadata: None,
        }));
    }
    if before.status != after.status {
        events.push(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: after.id.clone(),
            context_id,
            status: after.status.clone(),
            metadata: None,
        }));
    }
    events
}

/// The new parts of an artifact, and whether they are appended to the known parts.
fn news(known: Option<&Artifact>, now: &Artifact) -> Option<(Artifact, bool)> {
    let Some(known) = known else { return Some((now.clone(), false)) };
    if known == now {
        return None;
    }
    let mut rest = now.parts.iter();
    let has_grown = now.parts.len() > known.parts.len() && known.parts.iter().eq(rest.by_ref().take(known.parts.len()));
    if !has_grown {
        return Some((now.clone(), false));
    }
    Some((Artifact { parts: rest.map(Part::from).collect(), ..now.clone() }, true))
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Part, TaskState, TaskStatus};

    use super::*;

    fn task(state: TaskState, parts: &[&str]) -> Task {
        let mut task = Task::new("t".into(), "c".into());
        task.status = TaskStatus { state, ..TaskStatus::default() };
        if !parts.is_empty() {
            task.artifacts.push(Artifact::new("a", parts.iter().map(|text| Part::text(*text)).collect::<Vec<_>>()));
        }
        task
    }

    #[test]
    fn an_artifact_that_grew_is_a_chunk_and_one_that_changed_is_replaced() {
        let working = task(TaskState::Working, &["1"]);
        let grown = between(Some(&working), &task(TaskState::Working, &["1", "2"]));
        let [StreamResponse::ArtifactUpdate(chunk)] = &grown[..] else { panic!("{grown:?}") };
        assert!(chunk.append && chunk.artifact.text() == "2");
        let changed = between(Some(&working), &task(TaskState::Working, &["x"]));
        let [StreamResponse::ArtifactUpdate(whole)] = &changed[..] else { panic!("{changed:?}") };
        assert!(!whole.append && whole.artifact.text() == "x");
    }

    #[test]
    fn the_end_comes_last_and_nothing_new_is_no_event() {
        let (before, after) = (task(TaskState::Working, &[]), task(TaskState::Completed, &["1"]));
        let events = between(Some(&before), &after);
        assert!(matches!(events[..], [StreamResponse::ArtifactUpdate(_), StreamResponse::StatusUpdate(_)]));
        assert!(between(Some(&after), &after).is_empty());
    }
}
