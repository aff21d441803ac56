//! A task without its artifacts. Where all its messages name it and its context, as they do in all that the engine
//! makes, they are written without these two ids: a third of a short task, to be read, parsed and kept four times.

use nuncio_model::{
    ContextId, Message, MessageId, Part, Role, Struct, Task, TaskId, TaskState, TaskStatus, Timestamp, json::Field,
};
use serde::{Deserialize, Serialize, Serializer};

/// A task as it is written.
#[derive(Serialize)]
pub(super) struct Snapshot<'a> {
    /// Whether its messages are without ids of task and context.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    status: Status<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

#[derive(Serialize)]
struct Status<'a> {
    state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

struct Said<'a> {
    message: &'a Message,
    bare: bool,
}

/// A [`Message`] without its ids of task and context, and otherwise as it always is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BareMessage<'a> {
    message_id: &'a MessageId,
    role: Role,
    parts: &'a [Part],
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [Box<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reference_task_ids: &'a [TaskId],
}

impl<'a> Snapshot<'a> {
    pub(super) fn of(task: &'a Task) -> Self {
        let TaskStatus { state, message, timestamp } = &task.status;
        let mut messages = task.messages().peekable();
        let is_of_it = |it: &Message| it.task_id.as_ref() == Some(&task.id) && it.context_id == task.context_id;
        let bare = messages.peek().is_some() && task.context_id.is_some() && messages.all(is_of_it);
        let said = |message| Said { message, bare };
        Self {
            bare,
            status: Status { state: *state, message: message.as_deref().map(said), timestamp: *timestamp },
            history: task.history.iter().map(said).collect(),
            metadata: task.metadata.as_deref(),
        }
    }
}

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !self.bare {
            return self.message.serialize(to);
        }
        let Message { message_id, context_id: _, task_id: _, role, parts, metadata, extensions, reference_task_ids } =
            self.message;
        let metadata = metadata.as_deref();
        BareMessage { message_id, role: *role, parts, metadata, extensions, reference_task_ids }.serialize(to)
    }
}

/// A task as it is read.
#[derive(Deserialize)]
pub(super) struct ReadSnapshot {
    #[serde(default)]
    bare: bool,
    status: TaskStatus,
    #[serde(default, deserialize_with = "Field::decode")]
    history: Vec<Message>,
    #[serde(default)]
    metadata: Option<Box<Struct>>,
}

impl ReadSnapshot {
    /// The task of this id, in this context; an empty one is none.
    pub(super) fn into_task(self, id: TaskId, context: ContextId) -> Task {
        let Self { bare, mut status, mut history, metadata } = self;
        if bare {
            for message in status.message.as_deref_mut().into_iter().chain(&mut history) {
                message.task_id = Some(id.clone());
                message.context_id = Some(context.clone());
            }
        }
        let context_id = Some(context).filter(|context| !context.is_empty());
        Task { id, context_id, status, history, metadata, ..Task::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Body, read_task};
    use super::*;

    fn task(messages: Vec<Message>) -> Task {
        let mut task = Task::new("the-task".into(), "the-context".into());
        task.history = messages;
        task
    }

    fn own(text: &str) -> Message {
        let mut message = Message::user(text).with_task_id("the-task").with_context_id("the-context");
        message.extensions = vec!["https://example.org/x".into()];
        message.reference_task_ids = vec!["another".into()];
        message.metadata = Some(Box::default());
        message
    }

    /// What is written, if it is read as it was.
    fn written(task: &Task) -> String {
        let body = Body::of(task).unwrap();
        let context = task.context_id.clone().unwrap_or_default();
        assert_eq!(read_task(task.id.clone(), context, &body.task, None).unwrap(), *task);
        body.task
    }

    #[test]
    fn messages_of_the_task_are_written_without_its_ids() {
        let mut task = task(vec![own("a"), own("b")]);
        task.status = TaskStatus::new(TaskState::Completed).with_message(own("c"));
        let body = written(&task);
        assert!(!body.contains("the-task") && !body.contains("the-context"), "{body}");
    }

    #[test]
    fn a_message_that_says_otherwise_keeps_what_all_say() {
        for odd in [
            Message::user("x"),
            Message { context_id: None, ..own("x") },
            Message { task_id: None, ..own("x") },
            own("x").with_task_id("another"),
            own("x").with_context_id("another"),
        ] {
            assert_eq!(
                written(&task(vec![own("a"), odd.clone()])).matches("the-task\"").count(),
                1 + usize::from(odd.task_id == Some("the-task".into()))
            );
            let mut status = task(vec![own("a")]);
            status.status.message = Some(Box::new(odd));
            written(&status);
        }
        let mut without_context = task(vec![Message { context_id: None, ..own("a") }]);
        without_context.context_id = None;
        written(&without_context);
        written(&task(Vec::new()));
    }

    #[test]
    fn what_was_written_with_all_ids_is_read_as_it_was() {
        let (id, context) = (TaskId::from("t"), ContextId::from("c"));
        let body = r#"{"status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}]}"#;
        let task = read_task(id, context, body, None).unwrap();
        assert_eq!((task.history[0].task_id.clone(), task.history[0].context_id.clone()), (None, None));
    }
}
