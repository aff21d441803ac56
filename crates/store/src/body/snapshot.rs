//! The JSON of a task without its artifacts.
//!
//! In tasks of the engine, each message contains the ids of its task and its context. If all messages of a task contain
//! these ids, the JSON omits them from the messages. The ids would be a third of a short task, and they would be read,
//! parsed and stored four times.

use nuncio_model::{
    ContextId, Message, MessageId, Part, Role, Struct, Task, TaskId, TaskState, TaskStatus, Timestamp, json::Field,
};
use serde::{Deserialize, Serialize, Serializer};

/// A task, for serialization.
#[derive(Serialize)]
pub(super) struct TaskJson<'a> {
    /// Whether the ids of task and context are omitted from the messages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    status: Status<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<MessageJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

#[derive(Serialize)]
struct Status<'a> {
    state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

struct MessageJson<'a> {
    message: &'a Message,
    bare: bool,
}

/// A [`Message`] without its ids of task and context. The other members are the same as in the serialization of
/// `Message`.
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

impl<'a> TaskJson<'a> {
    pub(super) fn of(task: &'a Task) -> Self {
        let TaskStatus { state, message, timestamp } = &task.status;
        let mut messages = task.messages().peekable();
        let has_both_ids =
            |message: &Message| message.task_id.as_ref() == Some(&task.id) && message.context_id == task.context_id;
        let bare = messages.peek().is_some() && task.context_id.is_some() && messages.all(has_both_ids);
        let json = |message| MessageJson { message, bare };
        Self {
            bare,
            status: Status { state: *state, message: message.as_deref().map(json), timestamp: *timestamp },
            history: task.history.iter().map(json).collect(),
            metadata: task.metadata.as_deref(),
        }
    }
}

impl Serialize for MessageJson<'_> {
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

/// A task, for deserialization.
#[derive(Deserialize)]
pub(super) struct TaskFromJson {
    #[serde(default)]
    bare: bool,
    status: TaskStatus,
    #[serde(default, deserialize_with = "Field::decode")]
    history: Vec<Message>,
    #[serde(default)]
    metadata: Option<Box<Struct>>,
}

impl TaskFromJson {
    /// The task with this id, in this context. An empty context id means that the task has no context.
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

    /// The JSON of a task. Checks that the JSON reads back as the same task.
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
    fn if_one_message_has_other_ids_all_messages_keep_their_ids() {
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
    fn a_body_without_the_bare_flag_is_read_unchanged() {
        let (id, context) = (TaskId::from("t"), ContextId::from("c"));
        let body = r#"{"status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}]}"#;
        let task = read_task(id, context, body, None).unwrap();
        assert_eq!((task.history[0].task_id.clone(), task.history[0].context_id.clone()), (None, None));
    }
}
