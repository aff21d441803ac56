//! The one artifact that a program's output becomes: its chunks, and which of them is the last.

use std::time::Duration;

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, ArtifactId, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent};
use tokio::time::Instant;

/// The name of the artifact, and its id in the first turn that makes one.
const NAME: &str = "output";

/// Writes chunks one behind, so that the last can be marked as such when it turns out to be the last.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    turn: &'a Turn,
    id: ArtifactId,
    /// How long a chunk may be kept back; `None` for as long as it takes.
    patience: Option<Duration>,
    kept: Option<Part>,
    due: Option<Instant>,
    begun: bool,
}

impl<'a> Chunks<'a> {
    /// Chunks of the turn's output. A chunk is kept back at most for `patience`.
    pub(crate) fn new(turn: &'a Turn, patience: Option<Duration>) -> Self {
        Self { turn, id: free_id(turn), patience, kept: None, due: None, begun: false }
    }

    /// The artifact's id: one that no artifact of an earlier turn has.
    pub(crate) fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Takes note of an artifact that was written otherwise: chunks go on with it when it is theirs.
    pub(crate) fn adopt(&mut self, id: &ArtifactId) {
        self.begun |= *id == self.id;
    }

    /// Writes a chunk, some time before the next.
    pub(crate) async fn push(&mut self, part: Part) -> Result<(), AgentError> {
        let has_some = self.begun || self.kept.is_some();
        if self.patience.is_some() && has_some && part == Part::text("") {
            // It adds nothing; kept, it would be a part or the mark of the end, as time has it.
            return Ok(());
        }
        self.flush().await?;
        self.kept = Some(part);
        self.due = self.patience.map(|patience| Instant::now() + patience);
        Ok(())
    }

    /// Waits until a chunk has been kept back for long enough; for ever when there is none.
    pub(crate) async fn due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Writes what is kept back; more may come.
    pub(crate) async fn flush(&mut self) -> Result<(), AgentError> {
        self.due = None;
        match self.kept.take() {
            Some(part) => self.write(part, false).await,
            None => Ok(()),
        }
    }

    /// Marks the end: on the chunk that is kept back, or else on an empty one, which adds no part to the artifact.
    /// Where there was no chunk, there is no artifact.
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
        // What follows the end begins another artifact.
        if last_chunk {
            self.begun = false;
            self.id = ArtifactId::generate();
        }
        let update = TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() };
        self.turn.emit(StreamResponse::ArtifactUpdate(update)).await
    }
}

/// The id for this turn's output. A first turn that is run again writes it anew; what a later one had written cannot be
/// told from what was there before it.
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
