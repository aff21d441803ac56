//! Merges a task from its stream and from `GetTask`. Some agents store less than they stream.

use nuncio_model::{Artifact, Task, TaskState};

/// The stored task, with the additional data of its stream. Of two versions of an artifact the larger is taken. Of
/// two states the stored state is taken, unless only the stream has an end.
pub(super) fn merged(told: Task, kept: Task) -> Task {
    if kept.id != told.id {
        return told;
    }
    let Task { artifacts, mut status, history, metadata, context_id, .. } = told;
    let is_end = |state: TaskState| state.is_terminal() || state.is_interrupted();
    let mut task = kept;
    if is_end(status.state) && !is_end(task.state()) {
        task.status = status;
    } else if status.state == task.state() && task.status.message.is_none() {
        task.status.message = status.message.take();
    }
    let mut kept = std::mem::take(&mut task.artifacts);
    for artifact in artifacts {
        let same = kept.iter().position(|it| it.artifact_id == artifact.artifact_id).map(|place| kept.remove(place));
        task.artifacts.push(match same {
            Some(same) if size(&same) >= size(&artifact) => same,
            _ => artifact,
        });
    }
    task.artifacts.append(&mut kept);
    if task.history.is_empty() {
        task.history = history;
    }
    task.metadata = task.metadata.or(metadata);
    task.context_id = task.context_id.or(context_id);
    task
}

/// The size of an artifact: the length of its text, independent of the number of parts.
fn size(artifact: &Artifact) -> usize {
    let parts = artifact.parts.iter();
    parts
        .map(|part| part.as_text().map_or_else(|| serde_json::to_string(&part).map_or(0, |it| it.len()), str::len))
        .sum()
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Message, Part, TaskStatus};

    use super::*;

    fn task(state: TaskState, artifacts: &[(&str, &[&str])]) -> Task {
        let mut task = Task::new("t".into(), "c".into());
        task.status = TaskStatus { state, ..TaskStatus::default() };
        task.artifacts = artifacts
            .iter()
            .map(|(id, texts)| Artifact::new(*id, texts.iter().map(|text| Part::text(*text)).collect::<Vec<_>>()))
            .collect();
        task
    }

    fn texts(task: &Task) -> Vec<(String, String)> {
        task.artifacts.iter().map(|it| (it.artifact_id.to_string(), it.text())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn nothing_that_was_told_is_lost() {
        let told = task(TaskState::Completed, &[("a", &["AN", "SWER"]), ("b", &["x"])]);
        let none = merged(told.clone(), task(TaskState::Completed, &[]));
        assert_eq!(texts(&none), pairs(&[("a", "ANSWER"), ("b", "x")]));
        let less = merged(told.clone(), task(TaskState::Completed, &[("a", &["AN"])]));
        assert_eq!(texts(&less)[0].1, "ANSWER");
        let more = merged(told.clone(), task(TaskState::Completed, &[("c", &["y"]), ("a", &["ANSWER!"])]));
        assert_eq!(texts(&more), pairs(&[("a", "ANSWER!"), ("b", "x"), ("c", "y")]));
        let joined = merged(told.clone(), task(TaskState::Completed, &[("a", &["ANSWER"])]));
        assert_eq!(joined.artifacts[0].parts.len(), 1, "the agent's own form where it says as much");
    }

    #[test]
    fn the_end_that_was_told_counts() {
        let mut told = task(TaskState::Completed, &[]);
        told.status.message = Some(Box::new(Message::agent("done")));
        for kept in [TaskState::Working, TaskState::Completed] {
            let task = merged(told.clone(), task(kept, &[]));
            assert_eq!(task.state(), TaskState::Completed);
            assert_eq!(task.status.message.map(|it| it.text()).as_deref(), Some("done"));
        }
        let failed = merged(told, task(TaskState::Failed, &[]));
        assert_eq!((failed.state(), failed.status.message), (TaskState::Failed, None));
    }
}
