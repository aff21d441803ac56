//! How much replies and events carry: what a server sends of them.
//!
//! As JSON each takes at most twice as many bytes, beside what stands around it (ids, times, names of members).

use nuncio_model::{Message, PartContentRef, PartRef, Reply, StreamResponse, Task};

use crate::size;

/// How many bytes a reply carries; 0 where it never carries many, as the reply to a deletion.
pub fn of_reply(reply: &Reply) -> usize {
    match reply {
        Reply::Task(task) => size::of_task(task),
        Reply::Message(message) => size::of_message(message),
        Reply::Tasks(page) => page.tasks.iter().map(size::of_task).sum(),
        _ => 0,
    }
}

/// How many bytes a task carries.
pub fn of_task(task: &Task) -> usize {
    size::of_task(task)
}

/// How many bytes a task carries in a list, which may be without artifacts.
pub fn of_listed(task: &Task, artifacts: bool) -> usize {
    if artifacts { size::of_task(task) } else { size::of_messages(task) }
}

/// How many bytes an event of a stream carries.
pub fn of_event(event: &StreamResponse) -> usize {
    size::of_event(event)
}

/// Whether an event of a stream carries so many bytes; a look at the lengths of texts and files, as this is asked for
/// each event.
pub fn reaches(event: &StreamResponse, bytes: usize) -> bool {
    match event {
        StreamResponse::ArtifactUpdate(update) => {
            let has_metadata = update.metadata.is_some() || update.artifact.metadata.is_some();
            has_metadata && size::of_event(event) >= bytes || reach(update.artifact.parts.iter(), event, bytes)
        }
        StreamResponse::StatusUpdate(update) => {
            let message = update.status.message.as_deref();
            let has_metadata = update.metadata.is_some() || message.is_some_and(|message| message.metadata.is_some());
            let parts = message.into_iter().flat_map(|message| message.parts.iter().map(PartRef::from));
            has_metadata && size::of_event(event) >= bytes || reach(parts, event, bytes)
        }
        StreamResponse::Message(Message { .. }) | StreamResponse::Task(_) => size::of_event(event) >= bytes,
    }
}

fn reach<'a>(parts: impl Iterator<Item = PartRef<'a>>, event: &StreamResponse, bytes: usize) -> bool {
    let mut sum = 0;
    for part in parts {
        if part.metadata().is_some() {
            return size::of_event(event) >= bytes;
        }
        sum += match part.content {
            PartContentRef::Text(text) | PartContentRef::Url(text) => text.len(),
            PartContentRef::Raw(raw) => raw.len(),
            PartContentRef::Data(_) => return size::of_event(event) >= bytes,
        };
    }
    sum >= bytes
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Artifact, Part, Struct, TaskArtifactUpdateEvent};

    use super::*;

    #[test]
    fn metadata_counts_wherever_it_stands() {
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
}
