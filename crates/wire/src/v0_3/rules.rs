//! What all bindings of 0.2 and 0.3 make of the model in the same way.

use nuncio_model::{Error, ErrorKind, PushConfigId, Struct, TaskPushNotificationConfig, TaskStatusUpdateEvent, Value};

/// Marks data that was no object, which 0.3 does not have: it stands in an object as its `value`.
const WRAPPED: &str = "data_part_compat";
const VALUE: &str = "value";

/// Data as the object that 0.3 asks for; the part's metadata says where it was none.
pub(super) fn data_object(data: &Value, metadata: &mut Option<Struct>) -> Struct {
    if let Value::Object(object) = data {
        return object.clone();
    }
    metadata.get_or_insert_default().insert(WRAPPED.to_owned(), true.into());
    Struct::from_iter([(VALUE.to_owned(), data.clone())])
}

/// The data of an object; a mark among the metadata is taken off.
pub(super) fn data_value(mut object: Struct, metadata: &mut Option<Struct>) -> Value {
    let is_wrapped = object.len() == 1
        && object.contains_key(VALUE)
        && metadata.as_ref().is_some_and(|metadata| metadata.get(WRAPPED) == Some(&Value::Bool(true)));
    if !is_wrapped {
        return Value::Object(object);
    }
    if let Some(marked) = metadata {
        marked.remove(WRAPPED);
        if marked.is_empty() {
            *metadata = None;
        }
    }
    object.remove(VALUE).unwrap_or_default()
}

/// Whether the stream of a task ends with this event.
pub(super) fn is_final(update: &TaskStatusUpdateEvent) -> bool {
    update.status.state.is_terminal() || update.status.state.is_interrupted()
}

/// How much history is asked for: 0, which protobuf cannot tell from nothing, is all of it.
pub(super) fn history_length(length: i32) -> Option<i32> {
    Some(length).filter(|length| *length != 0)
}

/// A webhook whose client gave it no id has that of its task, so that a task of a client that knows of one webhook has
/// one.
pub(super) fn with_id(mut config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    if config.id.is_none() {
        config.id = config.task_id.as_ref().map(|task_id| PushConfigId::from(task_id.as_str()));
    }
    config
}

/// No binding of 0.3 lists tasks: its text has a path for it, but no message, and no SDK answers there.
pub(super) fn no_list() -> Error {
    Error::new(ErrorKind::UnsupportedOperation, "versions before 1.0 do not list tasks")
}
