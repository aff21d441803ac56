//! Resumable streams: the position of an event in its task's log, inside of the event. This is an extension of Nuncio
//! (section 4.6); `docs/extensions/resume.md` is its specification.

use crate::{
    card::{AgentCard, AgentExtension},
    error::{Detail, Error, ErrorKind},
    event::StreamResponse,
    id::TaskId,
    json::{Struct, Value},
};

/// The identifier of the extension, and the key of its data in metadata.
pub const URI: &str = "https://nuncio.dev/a2a/extensions/resume/v1";

/// The service parameter (section 3.2.6) with the position of the last event that the client received.
pub const PARAMETER: &str = "a2a-last-event-id";

/// The metadata key of an error with the reason why a stream cannot be resumed from the requested position.
pub const FACT: &str = "resume";

/// [`FACT`]: the text from the client is not a position.
pub const INVALID: &str = "invalid";
/// [`FACT`]: the position is after the end of this task's log.
pub const AHEAD: &str = "ahead";
/// [`FACT`]: the events after the position are deleted, or were never stored.
pub const EXPIRED: &str = "expired";

/// The member of the extension's data for the position.
const EVENT_ID: &str = "eventId";

/// The entry in a card that declares the extension.
pub fn declaration() -> AgentExtension {
    AgentExtension {
        uri: URI.to_owned(),
        description: Some("Streams continue after the event in A2A-Last-Event-ID".into()),
        ..AgentExtension::default()
    }
}

/// Whether a card declares the extension.
pub fn is_declared(card: &AgentCard) -> bool {
    card.capabilities.extensions.iter().any(|extension| extension.uri == URI)
}

/// Reads a position from a client: decimal digits. `None` if the text is empty.
///
/// # Errors
///
/// `InvalidParams` for any other text.
pub fn read(text: &str) -> Result<Option<u64>, Error> {
    match text.trim() {
        "" => Ok(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => match digits.parse() {
            Ok(place) => Ok(Some(place)),
            Err(_) => Err(invalid("there are not so many events")),
        },
        _ => Err(invalid("not an event id; an event id consists of decimal digits")),
    }
}

/// The error for an invalid position, or for a position in a call without a meaning for positions.
pub fn invalid(reason: &str) -> Error {
    Error::invalid_params(PARAMETER, reason).with_metadata(FACT, INVALID)
}

/// The error for a position after the end of a log.
pub fn ahead(task: &TaskId, place: u64, end: u64) -> Error {
    let reason = format!("event {place} is after the last event of task {task}, {end}; subscribe without an event id");
    Error::invalid_params(PARAMETER, reason).with_metadata(FACT, AHEAD).with_metadata("taskId", task.as_str())
}

/// The error for events that are deleted, or were never stored. A task that began and ended in one step has no stored
/// events.
pub fn expired(task: &TaskId, place: u64) -> Error {
    let message = format!("the events of task {task} after {place} are not stored; read the task with GetTask");
    Error::new(ErrorKind::UnsupportedOperation, message)
        .with_metadata(FACT, EXPIRED)
        .with_metadata("taskId", task.as_str())
}

/// Whether an error says that the stream cannot be resumed from the requested position. The stream may still be
/// available without a position.
pub fn is_lost(error: &Error) -> bool {
    // Versions before 1.0 carry the facts without a wrapper.
    let is_told = |detail: &Detail| matches!(detail, Detail::Other(data) if data.get(FACT).is_some());
    error.metadata().contains_key(FACT) || error.peer_details().is_some_and(|details| details.iter().any(is_told))
}

/// Writes the position of an event into the event. A direct message has no position.
pub fn mark(response: &mut StreamResponse, place: u64) {
    if let Some(metadata) = metadata(response) {
        let id = Value::Object([(EVENT_ID.to_owned(), place.to_string().into())].into_iter().collect());
        metadata.get_or_insert_default().insert(URI.to_owned(), id);
    }
}

/// Removes the position that [`mark`] wrote.
pub fn take(response: &mut StreamResponse) -> Option<u64> {
    let metadata = metadata(response)?;
    let data = metadata.as_mut()?.remove(URI)?;
    if metadata.as_ref().is_some_and(|left| left.is_empty()) {
        *metadata = None;
    }
    data.get(EVENT_ID)?.as_str()?.parse().ok()
}

fn metadata(response: &mut StreamResponse) -> Option<&mut Option<Box<Struct>>> {
    match response {
        StreamResponse::Task(task) => Some(&mut task.metadata),
        StreamResponse::StatusUpdate(update) => Some(&mut update.metadata),
        StreamResponse::ArtifactUpdate(update) => Some(&mut update.metadata),
        StreamResponse::Message(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};

    #[test]
    fn removing_a_mark_restores_the_event() {
        let mut with_data = Task::new("t".into(), "c".into());
        with_data.metadata.get_or_insert_default().insert("k".into(), 1.into());
        for response in [
            StreamResponse::Task(with_data),
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent::default()),
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent::default()),
        ] {
            let mut marked = response.clone();
            mark(&mut marked, 7);
            assert_ne!(marked, response);
            let json = serde_json::to_string(&marked).unwrap();
            assert!(json.contains(&format!(r#""{URI}":{{"eventId":"7"}}"#)), "{json}");
            assert_eq!((take(&mut marked), &marked), (Some(7), &response));
            assert_eq!(take(&mut marked), None);
        }
        let mut message = StreamResponse::Message(Message::agent("x"));
        mark(&mut message, 7);
        assert_eq!(take(&mut message), None);
    }

    #[test]
    fn a_position_is_decimal_digits() {
        assert_eq!(read(" 12 ").unwrap(), Some(12));
        assert_eq!(read("0").unwrap(), Some(0));
        assert_eq!(read("").unwrap(), None);
        for wrong in ["x", "-1", "+1", "1.0", "1 2", "18446744073709551616", "١"] {
            let error = read(wrong).unwrap_err();
            assert_eq!((error.kind(), &*error.metadata()[FACT]), (ErrorKind::InvalidParams, INVALID), "{wrong}");
        }
    }
}
