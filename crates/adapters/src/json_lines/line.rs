//! One line of a program's output.

use std::borrow::Cow;

use nuncio_model::{
    Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, json::with_few_values,
};
use serde::{Deserialize, de::IgnoredAny};

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A chunk of the default artifact.
    Text(Box<str>),
    /// Any event.
    Event(StreamResponse),
}

/// All possible members of a line, of which one is set.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    task: Option<Task>,
    message: Option<Message>,
    #[serde(rename = "statusUpdate", alias = "status_update")]
    status_update: Option<TaskStatusUpdateEvent>,
    #[serde(rename = "artifactUpdate", alias = "artifact_update")]
    artifact_update: Option<TaskArtifactUpdateEvent>,
}

/// Parses a line; the error is the reason.
pub(super) fn read(line: &[u8]) -> Result<Line, String> {
    // A derived implementation would also accept a list with the members in order.
    if !line.starts_with(b"{") {
        serde_json::from_slice::<IgnoredAny>(line).map_err(|error| complaint(&error))?;
        return Err("JSON, but not an object with one of text, message, statusUpdate and artifactUpdate".to_owned());
    }
    let members: Members<'_> = with_few_values(|| serde_json::from_slice(line)).map_err(|error| complaint(&error))?;
    let mut found = [
        members.text.map(|text| Line::Text(text.into())),
        members.task.map(|task| Line::Event(StreamResponse::Task(task))),
        members.message.map(|message| Line::Event(StreamResponse::Message(message))),
        members.status_update.map(|update| Line::Event(StreamResponse::StatusUpdate(update))),
        members.artifact_update.map(|update| Line::Event(StreamResponse::ArtifactUpdate(update))),
    ]
    .into_iter()
    .flatten();
    match (found.next(), found.next()) {
        (Some(line), None) => Ok(line),
        (None, _) => Err("one of text, message, statusUpdate and artifactUpdate is required".to_owned()),
        (Some(_), Some(_)) => {
            Err("more than one of text, task, message, statusUpdate and artifactUpdate is set".to_owned())
        }
    }
}

/// The remedy for a line that is no object of JSON.
pub(super) const HINT: &str = "; stdout is for JSON lines, and stderr for logs";

/// The beginning of a line, as a text in quotes without control characters.
pub(super) fn shown(line: &[u8]) -> String {
    // A character has at most 4 bytes.
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let first: String = text.chars().take(SHOWN).collect();
    let end = if first.len() < line.len() { " \u{2026}" } else { "" };
    format!("{first:?}{end}")
}

/// How many characters of a wrong line are shown.
const SHOWN: usize = 120;

/// The text of an error with the column only, because the parser always reports line 1.
fn complaint(error: &serde_json::Error) -> String {
    let not_json = if error.is_data() { "" } else { "not JSON: " };
    format!("{not_json}{} at column {}", nuncio_model::json::reason(error), error.column())
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Part, TaskState};

    use super::*;

    #[test]
    fn text_is_a_short_form_of_a_chunk() {
        assert_eq!(read(r#"{"text":"a\n✓"}"#.as_bytes()).unwrap(), Line::Text("a\n✓".into()));
        assert_eq!(read(br#"{"text":""}"#).unwrap(), Line::Text("".into()));
    }

    #[test]
    fn an_event_may_omit_ids_times_and_roles() {
        let Line::Event(StreamResponse::StatusUpdate(update)) = read(
            br#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"on it"}]}}}}"#,
        )
        .unwrap() else {
            panic!("a status")
        };
        assert_eq!(update.status.state, TaskState::Working);
        assert_eq!(update.status.message.unwrap().text(), "on it");
        let Line::Event(StreamResponse::ArtifactUpdate(update)) =
            read(br#"{"text":null,"artifactUpdate":{"artifact":{"parts":[{"raw":"AAE="}]}},"more":1}"#).unwrap()
        else {
            panic!("an artifact")
        };
        assert_eq!(update.artifact.parts, [Part::raw([0, 1])]);
    }

    #[test]
    fn a_wrong_line_is_shown_cut_and_escaped() {
        assert_eq!(shown("log: \u{1b}[31m \"x\"".as_bytes()), r#""log: \u{1b}[31m \"x\"""#);
        let long = shown("é".repeat(500).as_bytes());
        assert_eq!(long, format!("\"{}\" \u{2026}", "é".repeat(120)));
        assert_eq!(shown(&[0xff]), "\"\u{fffd}\"");
    }

    #[test]
    fn errors_name_the_reason() {
        for (line, complaint) in [
            ("hello", "not JSON: expected value at column 1"),
            (r#"{"text":"a"#, "not JSON: EOF while parsing a string at column 10"),
            ("[]", "JSON, but not an object with one of text, message, statusUpdate and artifactUpdate"),
            (
                r#"["a",null,null,null,null]"#,
                "JSON, but not an object with one of text, message, statusUpdate and artifactUpdate",
            ),
            ("5", "JSON, but not an object with one of text, message, statusUpdate and artifactUpdate"),
            ("null", "JSON, but not an object with one of text, message, statusUpdate and artifactUpdate"),
            (r#""text""#, "JSON, but not an object with one of text, message, statusUpdate and artifactUpdate"),
            (
                r#"{"text":"\ud800"}"#,
                "not JSON: a lone surrogate: an escape from \\ud800 to \\udfff needs the other half of its pair at \
                 column 16",
            ),
            ("[", "not JSON: EOF while parsing a list at column 1"),
            ("{}", "one of text, message, statusUpdate and artifactUpdate is required"),
            (
                r#"{"text":"a","message":{}}"#,
                "more than one of text, task, message, statusUpdate and artifactUpdate is set",
            ),
            (r#"{"text":3}"#, "invalid type: integer `3`, expected a string at column 9"),
            (
                r#"{"statusUpdate":{"status":{"state":"TASK_STATE_DONE"}}}"#,
                "unknown TaskState `TASK_STATE_DONE` at column 52",
            ),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap_err(), complaint, "{line}");
        }
    }
}
