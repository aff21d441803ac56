//! How large a task is: what its events and messages carry, in bytes. What stands around that (ids, times, names of
//! members) is not counted; each event has a number of its own for that. Metadata is parsed, and counts as what it takes
//! in memory, which is never less than its text.
//!
//! A store writes them as JSON, and can write only so much at once. Nearly all text takes about as much there, and
//! files a third more; but a control character takes six bytes, so it counts as six.

use nuncio_model::{
    Artifact, Error, ErrorKind, Message, Part, PartContentRef, PartRef, Size, StreamResponse, Struct, Task, Value,
    op::SendMessageRequest,
};

use crate::record::Sent;

/// Why there is no room for an event or a message.
#[derive(Debug)]
pub(crate) enum TooMuch {
    /// Its task has too much already.
    OfTask {
        /// The limit's name.
        limit: &'static str,
        reason: &'static str,
        most: u64,
    },
    /// All tasks at work have, or those of one caller.
    Memory(Error),
}

impl TooMuch {
    /// The limit's name.
    pub(crate) fn limit(&self) -> &str {
        match self {
            Self::OfTask { limit, .. } => limit,
            Self::Memory(error) => error.metadata().get("limit").map_or("", |limit| limit),
        }
    }

    /// The error for a message.
    pub(crate) fn refusal(self) -> Error {
        let reason = self.to_string();
        match self {
            Self::OfTask { limit, .. } => {
                let hint = "send a message without a task id to begin another in its context";
                Error::new(ErrorKind::PayloadTooLarge, format!("{reason}; {hint}")).with_metadata("limit", limit)
            }
            Self::Memory(error) => error,
        }
    }
}

impl std::fmt::Display for TooMuch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OfTask { limit, reason, most } => {
                write!(f, "the task is over its limit of {most} {reason} ({limit})")
            }
            Self::Memory(_) => write!(f, "the tasks that are at work task_ref too much in memory ({})", self.limit()),
        }
    }
}

pub(crate) fn of_event(response: &StreamResponse) -> usize {
    match response {
        StreamResponse::Task(task) => of_task(task),
        StreamResponse::Message(message) => of_message(message),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.as_deref().map_or(0, of_message) + of_struct(update.metadata.as_deref())
        }
        StreamResponse::ArtifactUpdate(update) => of_artifact(&update.artifact) + of_struct(update.metadata.as_deref()),
    }
}

pub(crate) fn of_task(task: &Task) -> usize {
    task.artifacts.iter().map(of_artifact).sum::<usize>() + of_messages(task)
}

/// A task without its artifacts.
pub(crate) fn of_messages(task: &Task) -> usize {
    task.messages().map(of_message).sum::<usize>() + of_struct(task.metadata.as_deref())
}

pub(crate) fn of_request(request: &SendMessageRequest) -> usize {
    of_message(&request.message) + of_struct(request.metadata.as_deref())
}

pub(crate) fn of_message(message: &Message) -> usize {
    // The first part is one of the things that stand around what is carried.
    let further_parts = message.parts.len().saturating_sub(1) * size_of::<Part>();
    let extensions: usize = message.extensions.iter().map(|uri| ALLOCATED + uri.len()).sum();
    let references: usize = message.reference_task_ids.iter().map(|id| ALLOCATED + id.as_str().len()).sum();
    further_parts
        + of_parts(message.parts.iter().map(PartRef::from))
        + of_struct(message.metadata.as_deref())
        + extensions
        + references
}

/// What a request says beside its message.
pub(crate) fn of_sent(sent: Option<&Sent>) -> usize {
    let Some(Sent { configuration, metadata, extensions }) = sent else { return 0 };
    let modes = configuration.as_ref().map_or(0, |it| it.accepted_output_modes.iter().map(String::len).sum::<usize>());
    modes + of_struct(metadata.as_deref()) + extensions.iter().map(|it| it.len()).sum::<usize>()
}

/// What an item of a list takes beside its text: where it stands, and what the allocator adds.
const ALLOCATED: usize = 32;

/// Refuses a message that no task has room for, with the metadata of the one that it begins: `PayloadTooLarge`.
pub(crate) fn check_message(message: &Message, of_task: Option<&Struct>, most: u64) -> Result<(), Error> {
    let size = of_message(message) + of_struct(of_task);
    if size as u64 <= most {
        return Ok(());
    }
    let reason = format!(
        "the message carries {}, and a task has room for {} (task_size); send less at once",
        Size::of(size),
        Size(most)
    );
    Err(Error::new(ErrorKind::PayloadTooLarge, reason).with_metadata("limit", "task_size"))
}

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

fn of_struct(members: Option<&Struct>) -> usize {
    members.map_or(0, of_map)
}

fn of_text(text: &str) -> usize {
    /// What a control character takes beyond its byte: `\u0000`.
    const ESCAPED: usize = 5;
    /// Few enough to be counted in a byte, so that many are counted at once.
    const BLOCK: usize = 128;
    // Those with an escape of two bytes, as line breaks and quotes are, count as any other.
    #[expect(clippy::needless_bitwise_bool, reason = "without branches, many are looked at at once")]
    let is_long = |byte: u8| (byte < 0x20) & !((byte.wrapping_sub(8) < 3) | (byte == 0x0c) | (byte == 0x0d));
    let of_block = |block: &[u8]| block.iter().fold(0_u8, |count, byte| count.wrapping_add(u8::from(is_long(*byte))));
    text.len() + ESCAPED * text.as_bytes().chunks(BLOCK).map(|block| usize::from(of_block(block))).sum::<usize>()
}

/// What a parsed value takes in memory, about, where it stands included.
fn of_value(value: &Value) -> usize {
    /// A list that grew one by one has room for more.
    const ITEM: usize = size_of::<Value>() / 2;
    let of_content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text).next_multiple_of(8),
        Value::Array(items) => items.iter().map(|item| ITEM + of_value(item)).sum(),
        Value::Object(members) => of_map(members),
    };
    size_of::<Value>() + of_content
}

/// What the members of a map take: it has nodes with room for eleven, of which half are used if there are many.
fn of_map(members: &Struct) -> usize {
    /// A node: eleven names and values, and where its neighbours are.
    const NODE: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
    let of_content =
        |(name, value): (&String, &Value)| of_text(name).next_multiple_of(8) + of_value(value) - size_of::<Value>();
    members.len().div_ceil(6) * NODE + members.iter().map(of_content).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside what stands around it, what is written is at most twice what is counted.
    #[test]
    fn what_is_counted_bounds_what_is_written() {
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
    fn a_parsed_value_counts_as_what_it_takes() {
        let counted = |json: &str| of_value(&serde_json::from_str(json).unwrap());
        // Seven bytes each; a node of the map is about 630 bytes.
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
