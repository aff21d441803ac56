//! Facts that 0.1 cannot carry, in metadata under one key: the client's id and the generation of a task, and the states
//! that 0.1 does not define.

use nuncio_model::{Struct, Task, TaskId, TaskState, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::dialect::finality;

/// The metadata key.
pub(super) const KEY: &str = "https://nuncio.dev/a2a/v0.1";

/// The facts of a task that a client of 0.1 created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The id that the client made.
    pub(super) client_id: String,
    /// The number of the task under that id: 1, 2, 3 …
    pub(super) generation: u32,
    /// The previous task, which this task continues.
    pub(super) continues: Option<TaskId>,
}

impl Mark {
    /// Converts the facts to the metadata of a task.
    pub(super) fn into_metadata(self) -> Struct {
        let mut facts = Struct::new();
        facts.insert("taskId".to_owned(), self.client_id.into());
        facts.insert("generation".to_owned(), self.generation.into());
        if let Some(continues) = self.continues {
            facts.insert("continues".to_owned(), continues.as_str().into());
        }
        Struct::from_iter([(KEY.to_owned(), Value::Object(facts))])
    }

    /// The id under which the client of 0.1 created the task.
    pub(super) fn client_id(task: &Task) -> Option<&str> {
        fact(task.metadata.as_deref(), "taskId")?.as_str()
    }
}

fn fact<'a>(metadata: Option<&'a Struct>, name: &str) -> Option<&'a Value> {
    metadata?.get(KEY)?.get(name)
}

/// The original state of a state that 0.1 replaced, from the metadata. The fact is removed from the metadata.
pub(super) fn take_state(state: TaskState, metadata: &mut Option<Box<Struct>>) -> TaskState {
    let Some(state_in_metadata) =
        fact(metadata.as_deref(), "state").and_then(Value::as_str).and_then(TaskState::from_name)
    else {
        return state;
    };
    if state != known(state_in_metadata) || state == state_in_metadata {
        return state;
    }
    if let Some(members) = metadata {
        members.remove(KEY);
        if members.is_empty() {
            *metadata = None;
        }
    }
    state_in_metadata
}

/// The nearest state that 0.1 defines.
pub(super) fn known(state: TaskState) -> TaskState {
    match state {
        TaskState::Rejected => TaskState::Failed,
        TaskState::AuthRequired => TaskState::InputRequired,
        state => state,
    }
}

/// The name in 0.1 of the nearest state that 0.1 knows.
pub(super) fn name(state: TaskState) -> &'static str {
    match known(state) {
        TaskState::Unspecified => "unknown",
        state => state.short(),
    }
}

/// Whether only this crate uses the metadata member, so that peers must not see the member.
fn is_ours(name: &str) -> bool {
    name == KEY || name == finality::KEY
}

/// Metadata for peers of 0.1: without the members of this crate, and with a state that 0.1 does not define.
pub(super) struct ShownMetadata<'a> {
    members: Option<&'a Struct>,
    state: Option<TaskState>,
}

impl<'a> ShownMetadata<'a> {
    /// `None` if there is nothing to write.
    pub(super) fn new(members: Option<&'a Struct>, state: Option<TaskState>) -> Option<Self> {
        let state = state.filter(|state| known(*state) != *state);
        // Empty metadata from another source is written.
        let is_ours_alone = |members: &Struct| !members.is_empty() && members.keys().all(|name| is_ours(name));
        let members = members.filter(|members| !is_ours_alone(members));
        (members.is_some() || state.is_some()).then_some(Self { members, state })
    }
}

impl Serialize for ShownMetadata<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in self.members.into_iter().flatten().filter(|(name, _)| !is_ours(name)) {
            map.serialize_entry(name, value)?;
        }
        if let Some(state) = self.state {
            map.serialize_entry(KEY, &Struct::from_iter([("state".to_owned(), state.short().into())]))?;
        }
        map.end()
    }
}
