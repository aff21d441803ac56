//! An event as one line for people: the output of `{:?}`.

use std::fmt::{self, Formatter};

use super::{StreamEvent, StreamResponse};
use crate::{artifact::Artifact, message::Message, part::PartRef, task::TaskStatus};

/// The number of shown characters of a text.
const SHOWN: usize = 120;

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let mut debug = f.debug_struct("StreamEvent");
            return debug.field("sequence", &self.sequence).field("response", &self.response).finish_non_exhaustive();
        }
        if let Some(sequence) = self.sequence {
            write!(f, "#{sequence} ")?;
        }
        match &self.response {
            StreamResponse::Task(task) => {
                write!(f, "task {} ", task.id)?;
                status(f, &task.status)?;
                task.artifacts.iter().try_for_each(|it| {
                    f.write_str(" ")?;
                    artifact(f, it, false)
                })
            }
            StreamResponse::Message(it) => {
                f.write_str("message")?;
                message(f, it)
            }
            StreamResponse::StatusUpdate(update) => {
                f.write_str("status ")?;
                status(f, &update.status)
            }
            StreamResponse::ArtifactUpdate(update) => {
                artifact(f, &update.artifact, update.append)?;
                if update.last_chunk { f.write_str(" (last)") } else { Ok(()) }
            }
        }
    }
}

fn status(f: &mut Formatter<'_>, status: &TaskStatus) -> fmt::Result {
    f.write_str(status.state.short())?;
    status.message.as_ref().map_or(Ok(()), |it| message(f, it))
}

fn message(f: &mut Formatter<'_>, message: &Message) -> fmt::Result {
    message.parts.iter().try_for_each(|it| part(f, it.into()))
}

fn artifact(f: &mut Formatter<'_>, artifact: &Artifact, appends: bool) -> fmt::Result {
    let name = artifact.name.as_deref().unwrap_or(artifact.artifact_id.as_str());
    write!(f, "artifact {name}{}", if appends { " +" } else { "" })?;
    artifact.parts.iter().try_for_each(|it| part(f, it))
}

/// A shortened text in quotes; for any other part, a description.
fn part(f: &mut Formatter<'_>, part: PartRef<'_>) -> fmt::Result {
    use crate::part::PartContentRef::{Data, Raw, Text, Url};
    f.write_str(" ")?;
    match part.content {
        Text(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{:?}…", &text[..end]),
            None => write!(f, "{text:?}"),
        },
        Raw(bytes) => write!(f, "[{} {} bytes]", part.filename().unwrap_or("file"), bytes.len()),
        Url(url) => write!(f, "[file {url:?}]"),
        Data(_) => f.write_str("[data]"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Artifact, Message, Part, StreamEvent, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        TaskStatusUpdateEvent,
    };

    #[test]
    fn an_event_is_one_readable_line() {
        let show = |sequence, response| format!("{:?}", StreamEvent::new(sequence, response));
        let working = TaskStatus::new(TaskState::Working).with_message(Message::agent("two left"));
        let update = TaskStatusUpdateEvent { status: working.clone(), ..Default::default() };
        assert_eq!(show(Some(3), StreamResponse::StatusUpdate(update)), r#"#3 status working "two left""#);
        let artifact = Artifact::new("out", [Part::text("a\n"), Part::raw([1, 2]).with_filename("b.bin")]);
        let update = TaskArtifactUpdateEvent { artifact: artifact.clone(), append: true, ..Default::default() };
        assert_eq!(show(Some(4), StreamResponse::ArtifactUpdate(update)), r#"#4 artifact out + "a\n" [b.bin 2 bytes]"#);
        let task = Task { status: working, artifacts: vec![artifact], ..Task::new("t".into(), "c".into()) };
        let shown = show(Some(5), StreamResponse::Task(task.clone()));
        assert_eq!(shown, r#"#5 task t working "two left" artifact out "a\n" [b.bin 2 bytes]"#);
        let long = show(None, StreamResponse::Message(Message::agent("x".repeat(200))));
        assert_eq!(long, format!("message \"{}\"…", "x".repeat(120)));
        assert!(format!("{:#?}", StreamEvent::new(None, StreamResponse::Task(task))).contains("artifact_id"));
    }
}
