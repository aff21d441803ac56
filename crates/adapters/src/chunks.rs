//! The artifact of a program's output: its chunks, and the `lastChunk` flag.

use std::time::Duration;

use nuncio_engine::{AgentError, Turn};
use nuncio_limit::sleep;
use nuncio_model::{Artifact, ArtifactId, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent};
use tokio::time::Instant;

/// The name of the artifact, and the id of the artifact in the first turn.
const NAME: &str = "output";

/// Delays each chunk until the next chunk, so that the last chunk gets the `lastChunk` flag.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    turn: &'a Turn,
    id: ArtifactId,
    /// The maximum delay of a chunk; `None` means no maximum.
    max_delay: Option<Duration>,
    kept: Option<Part>,
    due: Option<Instant>,
    begun: bool,
}

impl<'a> Chunks<'a> {
    /// The chunks of the turn's output. `max_delay` is the maximum delay of a chunk.
    pub(crate) fn new(turn: &'a Turn, max_delay: Option<Duration>) -> Self {
        Self { turn, id: free_id(turn), max_delay, kept: None, due: None, begun: false }
    }

    /// The id of the artifact, different from all artifacts of earlier turns.
    pub(crate) fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Notes an artifact update that was written by other code. If the update has this artifact's id, later chunks are
    /// appended.
    pub(crate) fn adopt(&mut self, id: &ArtifactId) {
        self.begun |= *id == self.id;
    }

    /// Adds a chunk, which is written before the next chunk at the latest.
    pub(crate) async fn push(&mut self, part: Part) -> Result<(), AgentError> {
        let has_some = self.begun || self.kept.is_some();
        if self.max_delay.is_some() && has_some && part == Part::text("") {
            // An empty text adds no content. If it were stored, the timing would decide between an extra part and a
            // mere `lastChunk` flag.
            return Ok(());
        }
        self.flush().await?;
        self.kept = Some(part);
        self.due = self.max_delay.map(|max_delay| Instant::now() + max_delay);
        Ok(())
    }

    /// Waits until the maximum delay of the held chunk has passed; forever if no chunk is held.
    pub(crate) async fn due(&self) {
        sleep::until(self.due).await;
    }

    /// Writes the held chunk; more chunks can follow.
    pub(crate) async fn flush(&mut self) -> Result<(), AgentError> {
        self.due = None;
        match self.kept.take() {
            Some(part) => self.write(part, false).await,
            None => Ok(()),
        }
    }

    /// Sets the `lastChunk` flag: on the held chunk, or on an additional empty chunk, which adds no part to the
    /// artifact. Without any chunk there is no artifact.
    pub(crate) async fn finish(&mut self) -> Result<(), AgentError> {
        self.due = None;
        match self.kept.take() {
            Some(part) => self.write(part, true).await,
            None if self.begun => self.write(Part::text(""), true).await,
            None => Ok(()),
        }
    }

    async fn write(&mut self, part: Part, last_chunk: bool) -> Result<(), AgentError> {
        let mut artifact = Artifact::new(self.id.clone(), vec![part]);
        let append = std::mem::replace(&mut self.begun, true);
        if !append {
            artifact.name = Some(NAME.into());
        }
        // Chunks after the end begin another artifact.
        if last_chunk {
            self.begun = false;
            self.id = ArtifactId::generate();
        }
        let update = TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() };
        self.turn.emit(StreamResponse::ArtifactUpdate(update)).await
    }
}

/// The id for this turn's output. If the first turn runs again, the output replaces the artifact of the first attempt.
/// A later turn cannot distinguish its own earlier output from the output of earlier turns, so it uses a new id.
fn free_id(turn: &Turn) -> ArtifactId {
    let is_only_turn = |task: &Task| task.history.iter().filter(|message| message.role == Role::User).count() == 1;
    if turn.resumed().is_some_and(is_only_turn) {
        return NAME.into();
    }
    let earlier = turn.task().map_or(&[][..], |task| &task.artifacts);
    let is_free = |id: &String| earlier.iter().all(|artifact| artifact.artifact_id != id.as_str());
    let mut candidates = (1..).map(|number| if number == 1 { NAME.to_owned() } else { format!("{NAME}-{number}") });
    candidates.find(is_free).map_or_else(ArtifactId::generate, ArtifactId::from)
}
