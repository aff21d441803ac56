//! The size of the content of replies, events, tasks and messages, in bytes.
//!
//! The size includes texts, files, data and metadata. Ids, times and names of members are not counted. Metadata is
//! parsed; its size is its size in memory, which is never less than the text. A control character counts as six bytes,
//! because its JSON form has six bytes. The content as JSON has at most twice the size.

use crate::{Artifact, Message, Part, PartContentRef, PartRef, Reply, StreamResponse, Struct, Task, Value};

/// The size of a reply; 0 for a reply that is always small, for example the reply to a deletion.
pub fn of_reply(reply: &Reply) -> usize {
    match reply {
        Reply::Task(task) => of_task(task),
        Reply::Message(message) => of_message(message),
        Reply::Tasks(page) => page.tasks.iter().map(of_task).sum(),
        _ => 0,
    }
}

/// The size of a task in a list, with or without artifacts.
pub fn of_listed(task: &Task, artifacts: bool) -> usize {
    if artifacts { of_task(task) } else { of_messages(task) }
}

/// Whether the size of an event reaches this number of bytes. The check examines only the lengths of texts and files,
/// because it runs for each event.
pub fn reaches(event: &StreamResponse, bytes: usize) -> bool {
    match event {
        StreamResponse::ArtifactUpdate(update) => {
            let has_metadata = update.metadata.is_some() || update.artifact.metadata.is_some();
            has_metadata && of_event(event) >= bytes || reach(update.artifact.parts.iter(), event, bytes)
        }
        StreamResponse::StatusUpdate(update) => {
            let message = update.status.message.as_deref();
            let has_metadata = update.metadata.is_some() || message.is_some_and(|message| message.metadata.is_some());
            let parts = message.into_iter().flat_map(|message| message.parts.iter().map(PartRef::from));
            has_metadata && of_event(event) >= bytes || reach(parts, event, bytes)
        }
        StreamResponse::Message(Message { .. }) | StreamResponse::Task(_) => of_event(event) >= bytes,
    }
}

fn reach<'a>(parts: impl Iterator<Item = PartRef<'a>>, event: &StreamResponse, bytes: usize) -> bool {
    let mut sum = 0;
    for part in parts {
        if part.metadata().is_some() {
            return of_event(event) >= bytes;
        }
        sum += match part.content {
            PartContentRef::Text(text) | PartContentRef::Url(text) => text.len(),
            PartContentRef::Raw(raw) => raw.len(),
            PartContentRef::Data(_) => return of_event(event) >= bytes,
        };
    }
    sum >= bytes
}

/// The size of an event of a stream.
pub fn of_event(response: &StreamResponse) -> usize {
    match response {
        StreamResponse::Task(task) => of_task(task),
        StreamResponse::Message(message) => of_message(message),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.as_deref().map_or(0, of_message) + of_struct(update.metadata.as_deref())
        }
        StreamResponse::ArtifactUpdate(update) => of_artifact(&update.artifact) + of_struct(update.metadata.as_deref()),
    }
}

/// The size of a task.
pub fn of_task(task: &Task) -> usize {
    task.artifacts.iter().map(of_artifact).sum::<usize>() + of_messages(task)
}

/// The size of a task without its artifacts.
pub fn of_messages(task: &Task) -> usize {
    task.messages().map(of_message).sum::<usize>() + of_struct(task.metadata.as_deref())
}

/// The size of a message.
pub fn of_message(message: &Message) -> usize {
    // The first part is included in the base size of a message, which is not counted.
    let further_parts = message.parts.len().saturating_sub(1) * size_of::<Part>();
    let extensions: usize = message.extensions.iter().map(|uri| ALLOCATED + uri.len()).sum();
    let references: usize = message.reference_task_ids.iter().map(|id| ALLOCATED + id.as_str().len()).sum();
    further_parts
        + of_parts(message.parts.iter().map(PartRef::from))
        + of_struct(message.metadata.as_deref())
        + extensions
        + references
}

/// The size of an item of a list in addition to its text: the entry in the list, and the overhead of the allocator.
const ALLOCATED: usize = 32;

fn of_artifact(artifact: &Artifact) -> usize {
    of_parts(&artifact.parts) + of_struct(artifact.metadata.as_deref())
}

fn of_parts<'a>(parts: impl IntoIterator<Item = PartRef<'a>>) -> usize {
    let of_part = |part: PartRef<'_>| match part.content {
        PartContentRef::Text(text) | PartContentRef::Url(text) => of_text(text),
        PartContentRef::Raw(bytes) => bytes.len(),
        PartContentRef::Data(data) => data.as_str().len(),
    };
    parts.into_iter().map(|part| of_part(part) + of_struct(part.metadata())).sum()
}

/// The approximate size of metadata in memory.
pub fn of_struct(members: Option<&Struct>) -> usize {
    members.map_or(0, of_map)
}

fn of_text(text: &str) -> usize {
    /// The size of the escape `\u0000` in addition to the byte of the control character.
    const ESCAPED: usize = 5;
    /// A block is small enough for a count in one byte, so that many bytes are examined at once.
    const BLOCK: usize = 128;
    // Characters with an escape of two bytes, for example line breaks and quotes, count as one byte.
    #[expect(clippy::needless_bitwise_bool, reason = "without branches, many are looked at at once")]
    let is_long = |byte: u8| (byte < 0x20) & !((byte.wrapping_sub(8) < 3) | (byte == 0x0c) | (byte == 0x0d));
    let of_block = |block: &[u8]| block.iter().fold(0_u8, |count, byte| count.wrapping_add(u8::from(is_long(*byte))));
    text.len() + ESCAPED * text.as_bytes().chunks(BLOCK).map(|block| usize::from(of_block(block))).sum::<usize>()
}

/// The approximate size of a parsed value in memory, with its entry in a list or map.
fn of_value(value: &Value) -> usize {
    /// A list that grew item by item has spare capacity.
    const ITEM: usize = size_of::<Value>() / 2;
    let of_content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text).next_multiple_of(8),
        Value::Array(items) => items.iter().map(|item| ITEM + of_value(item)).sum(),
        Value::Object(members) => of_map(members),
    };
    size_of::<Value>() + of_content
}

/// The size of the members of a map. A node of the map has room for eleven members; in a large map, half of the room is
/// used.
fn of_map(members: &Struct) -> usize {
    /// A node: eleven names and values, and the links to its neighbours.
    const NODE: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
    let of_content =
        |(name, value): (&String, &Value)| of_text(name).next_multiple_of(8) + of_value(value) - size_of::<Value>();
    members.len().div_ceil(6) * NODE + members.iter().map(of_content).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskArtifactUpdateEvent;

    #[test]
    fn metadata_counts_at_every_position() {
        let large = || -> Struct { [("a".to_owned(), "x".repeat(1000).into())].into_iter().collect() };
        let event = |artifact: Artifact| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, ..Default::default() })
        };
        let of_part = Artifact { parts: vec![Part::text("x").with_metadata(large())].into(), ..Default::default() };
        let of_artifact = Artifact { metadata: Some(large().into()), ..Default::default() };
        for event in [event(of_part), event(of_artifact)] {
            assert!(reaches(&event, 1000) && !reaches(&event, 10_000));
        }
    }

    /// Except for the surrounding JSON syntax, the written text has at most twice the counted size.
    #[test]
    fn the_written_size_is_at_most_twice_the_counted_size() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        for text in ["plain", "lines\n\tand \"quotes\" \\", "\u{0}\u{1}\u{1f}\u{b}", &*all] {
            let written = serde_json::to_string(text).unwrap().len() - 2;
            let counted = of_text(text);
            assert!(counted <= written && written <= 2 * counted, "{text:.9}: {counted} for {written}");
        }
        assert_eq!(of_text("\u{0}\u{b}\n"), 13);
        let message = |text: &str| of_message(&Message::user(text));
        assert_eq!(message("\u{2}") - message("x"), 5);
    }

    #[test]
    fn a_parsed_value_counts_with_its_size_in_memory() {
        let counted = |json: &str| of_value(&serde_json::from_str(json).unwrap());
        // Each object has seven bytes of text; a node of the map has about 630 bytes.
        let objects = counted(&format!("[{}]", vec![r#"{"":0}"#; 1_000].join(",")));
        assert!((650_000..750_000).contains(&objects), "{objects}");
        let numbers = counted(&format!("[{}]", vec!["0"; 1_000].join(",")));
        assert!((40_000..60_000).contains(&numbers), "{numbers}");
        let members: Vec<_> = (0..1_000).map(|number| format!(r#""{number}":0"#)).collect();
        let object = counted(&format!("{{{}}}", members.join(",")));
        assert!((100_000..130_000).contains(&object), "{object}");
        assert_eq!(of_struct(Some(&Struct::new())), 0);
    }

    #[test]
    fn parts_and_references_of_a_message_count() {
        let parts = |number| of_message(&Message { parts: vec![Part::text(""); number], ..Message::user("") });
        assert_eq!((parts(1), parts(1_001)), (0, 32_000));
        let references = Message { reference_task_ids: vec!["1".into(); 1_000], ..Message::user("") };
        assert_eq!(of_message(&references), 33_000);
    }
}
