//! The permitted changes of a task and their effects, as pure functions.

use std::{collections::HashMap, fmt};

use nuncio_model::{
    Artifact, ArtifactId, Message, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
};

use crate::record::Record;

/// A change that the current state of the task does not permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalTransition {
    reason: String,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for IllegalTransition {}

fn illegal<T>(reason: impl Into<String>) -> Result<T, IllegalTransition> {
    Err(IllegalTransition { reason: reason.into() })
}

/// Checks a message of an agent: the role is the agent or unspecified, and the message has content (sections 4.1.4
/// "Message" and 5.7 "Field Presence and Optionality").
pub fn check_message(message: &Message) -> Result<(), IllegalTransition> {
    if message.role == Role::User {
        return illegal("a message in the name of the user: the role of an agent's message is ROLE_AGENT");
    }
    if message.parts.is_empty() { illegal("a message without parts") } else { Ok(()) }
}

/// The state after a change, or the reason why the change is not permitted. Depends only on the state, so a batch can
/// be checked before any of its records is written.
pub fn next_state(state: TaskState, response: &StreamResponse) -> Result<TaskState, IllegalTransition> {
    if state.is_terminal() {
        return illegal(format!("the task is already {}", state.short()));
    }
    match response {
        StreamResponse::StatusUpdate(update) => match update.status.state {
            TaskState::Unspecified => illegal("a status without a state"),
            TaskState::Submitted if state != TaskState::Submitted => {
                illegal(format!("a task that is {} cannot go back to submitted", state.short()))
            }
            _ if update.status.message.as_ref().is_some_and(|message| message.parts.is_empty()) => {
                illegal("a message without parts")
            }
            next => Ok(next),
        },
        StreamResponse::ArtifactUpdate(update) if update.artifact.parts.is_empty() => {
            illegal(format!("artifact `{}` has no parts", update.artifact.artifact_id))
        }
        StreamResponse::ArtifactUpdate(update) if update.artifact.artifact_id.is_empty() => {
            illegal("an artifact without an id")
        }
        StreamResponse::ArtifactUpdate(_) => Ok(state),
        StreamResponse::Task(_) => illegal("a whole task instead of a change to it"),
        StreamResponse::Message(_) => illegal("a bare message after the task was begun"),
    }
}

/// Applies a record to a task. An error leaves the task unchanged.
pub fn apply(task: &mut Task, record: &Record) -> Result<(), IllegalTransition> {
    apply_at(task, record, position)
}

/// Applies many records to one task. The cost of a record does not depend on the size of the task, because the fold
/// remembers the positions of the artifacts.
#[derive(Debug, Default)]
pub struct Fold {
    /// The positions of the artifacts that were looked at.
    places: HashMap<ArtifactId, usize>,
}

impl Fold {
    /// With fewer artifacts than this number, a linear search is as fast.
    const FEW: usize = 64;

    /// Applies a record to the task. An error leaves the task unchanged. All calls must pass the same task.
    pub fn apply(&mut self, task: &mut Task, record: &Record) -> Result<(), IllegalTransition> {
        apply_at(task, record, |artifacts, id| self.position(artifacts, id))
    }

    fn position(&mut self, artifacts: &[Artifact], id: &ArtifactId) -> Option<usize> {
        let (last, others) = artifacts.split_last()?;
        // The newest artifact usually grows.
        if last.artifact_id == *id {
            return Some(others.len());
        }
        if others.len() < Self::FEW {
            return position(others, id);
        }
        // Artifacts do not move, and new artifacts are appended.
        for (place, artifact) in artifacts.iter().enumerate().skip(self.places.len()) {
            self.places.insert(artifact.artifact_id.clone(), place);
        }
        self.places.get(id).copied()
    }
}

fn position(artifacts: &[Artifact], id: &ArtifactId) -> Option<usize> {
    artifacts.iter().rposition(|known| known.artifact_id == *id)
}

fn apply_at(
    task: &mut Task,
    record: &Record,
    position: impl FnOnce(&[Artifact], &ArtifactId) -> Option<usize>,
) -> Result<(), IllegalTransition> {
    let response = match record {
        Record::Received(received) => {
            if task.state().is_terminal() {
                return illegal(format!("the task is already {}", task.state().short()));
            }
            receive(task, received.message.clone());
            return Ok(());
        }
        Record::Begun(_) => return Ok(()),
        Record::Update(event) => &event.response,
        Record::Submitted(submitted) => &submitted.event.response,
    };
    match response {
        StreamResponse::Task(first) if task.id.is_empty() => task.clone_from(first),
        response => {
            next_state(task.state(), response)?;
            fold(task, response, position);
        }
    }
    Ok(())
}

/// Applies a checked change to the task.
fn fold(task: &mut Task, response: &StreamResponse, position: impl FnOnce(&[Artifact], &ArtifactId) -> Option<usize>) {
    match response {
        StreamResponse::StatusUpdate(update) => {
            set_status(task, update.status.clone());
            if let Some(metadata) = &update.metadata {
                task.metadata.get_or_insert_default().extend(metadata.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
        }
        StreamResponse::ArtifactUpdate(update) => {
            let place = position(&task.artifacts, &update.artifact.artifact_id);
            set_artifact(&mut task.artifacts, place, update);
        }
        StreamResponse::Task(_) | StreamResponse::Message(_) => {}
    }
}

/// Appends a message of the client to the history, after the last message of the agent.
fn receive(task: &mut Task, message: Message) {
    task.history.extend(task.status.message.take().map(|message| *message));
    task.history.push(message);
}

/// Sets a new status. The message of the previous status moves into the history.
fn set_status(task: &mut Task, status: TaskStatus) {
    task.history.extend(task.status.message.take().map(|message| *message));
    task.status = status;
}

/// `append` adds parts to a known artifact, and creates an unknown artifact (section 4.2.2 "TaskArtifactUpdateEvent").
fn set_artifact(artifacts: &mut Vec<Artifact>, place: Option<usize>, update: &TaskArtifactUpdateEvent) {
    let new = &update.artifact;
    match place.and_then(|place| artifacts.get_mut(place)) {
        Some(known) if update.append => append(known, new, update.last_chunk),
        Some(known) => known.clone_from(new),
        None => {
            if artifacts.is_empty() {
                // Most artifacts have one part and live for long.
                artifacts.reserve_exact(1);
            }
            artifacts.push(new.clone());
        }
    }
}

fn append(known: &mut Artifact, new: &Artifact, is_last: bool) {
    if !(is_last && says_only_that_it_ends(new)) {
        known.parts.extend_from(&new.parts);
    }
    if let Some(metadata) = &new.metadata {
        known.metadata.get_or_insert_default().extend(metadata.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    for extension in &new.extensions {
        if !known.extensions.contains(extension) {
            known.extensions.push(extension.clone());
        }
    }
    if known.name.is_none() {
        known.name.clone_from(&new.name);
    }
    if known.description.is_none() {
        known.description.clone_from(&new.description);
    }
}

/// Whether the last chunk is an empty text. An artifact has at least one part, so a separate end marker must have a
/// part. The part adds nothing; otherwise the artifact would depend on the moment at which its end was known.
fn says_only_that_it_ends(piece: &Artifact) -> bool {
    piece.parts.only().is_some_and(|part| part.is_bare() && part.as_text() == Some(""))
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Artifact, Part, StreamResponse, Task, TaskArtifactUpdateEvent};

    use super::{Fold, apply};
    use crate::record::Record;

    #[test]
    fn a_separate_end_marker_adds_no_part() {
        let fold = |pieces: &[(Part, bool, bool)]| {
            let mut task = Task::default();
            for (sequence, (part, append, last_chunk)) in (1..).zip(pieces) {
                let artifact = Artifact::new("a", vec![part.clone()]);
                let (append, last_chunk) = (*append, *last_chunk);
                let update = TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() };
                apply(&mut task, &Record::update(sequence, StreamResponse::ArtifactUpdate(update))).unwrap();
            }
            task.artifacts.remove(0).parts
        };
        let (text, end) = (|text| Part::text(text), || Part::text(""));
        assert_eq!(fold(&[(text("x"), false, false), (end(), true, true)]), fold(&[(text("x"), false, true)]));
        assert_eq!(fold(&[(text("x"), false, false), (end(), true, false)]), [text("x"), end()], "it goes on");
        assert_eq!(fold(&[(end(), false, true)]), [end()], "all that there is");
        assert_eq!(fold(&[(end(), true, true)]), [end()]);
        let typed = end().with_media_type("text/csv");
        assert_eq!(fold(&[(text("x"), false, false), (typed.clone(), true, true)]), [text("x"), typed]);
    }

    #[test]
    fn many_artifacts_fold_as_few_do() {
        let (mut one, mut other) = (Task::default(), Task::default());
        let mut fold = Fold::default();
        // Steps with new artifacts, with known artifacts, and with repeated use of the newest artifact.
        for step in 0..1_000_u64 {
            let id = (step * step) % 401;
            for append in [step % 3 == 0, true] {
                let artifact = Artifact::new(id.to_string(), vec![Part::text(step.to_string())]);
                let update = TaskArtifactUpdateEvent { artifact, append, ..Default::default() };
                let record = Record::update(step + 1, StreamResponse::ArtifactUpdate(update));
                apply(&mut one, &record).unwrap();
                fold.apply(&mut other, &record).unwrap();
            }
        }
        assert_eq!(one, other);
        assert!(one.artifacts.len() > Fold::FEW);
    }
}
