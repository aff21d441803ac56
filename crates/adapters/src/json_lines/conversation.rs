//! The output of a program in a turn: its lines, converted to events of the turn.

use std::{fmt, time::Duration};

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{ArtifactId, Part, StreamResponse, TaskArtifactUpdateEvent, TaskState};
use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;

use super::line::{self, Line};
use crate::{
    chunks::Chunks,
    pieces::{End, Piece, Pieces},
    program::{ProgramLimits, Pulse},
    size::Size,
};

/// The maximum delay of a text. A text is held back until the next line or the end of the output, because only then the
/// text is known to be the last or not.
const MAX_DELAY: Duration = Duration::from_millis(50);

/// The program's side of a turn.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    turn: &'a Turn,
    limits: &'a ProgramLimits,
    /// Cancelled by the program's last event.
    over: &'a CancellationToken,
    chunks: Chunks<'a>,
    /// The artifact of the previous artifact line.
    artifact: Option<ArtifactId>,
    /// The state of the task after the last event.
    fate: Fate,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(turn: &'a Turn, limits: &'a ProgramLimits, over: &'a CancellationToken) -> Self {
        let chunks = Chunks::new(turn, Some(MAX_DELAY));
        Self { turn, limits, over, chunks, artifact: None, fate: Fate::Open }
    }

    /// Reads to the end.
    pub(super) async fn read(&mut self, stdout: impl AsyncRead + Unpin, pulse: &Pulse) -> Result<(), AgentError> {
        let mut lines = Pieces::new(stdout, b"\n", self.limits.piece).with_output_limit(self.limits.output);
        let mut number = 0_u64;
        loop {
            let next = tokio::select! {
                biased;
                next = pulse.listen(lines.next()) => next,
                () = self.chunks.due() => {
                    self.chunks.flush().await?;
                    continue;
                }
            };
            number += 1;
            let handled = match next {
                Ok(None) => return Ok(()),
                Ok(Some(line)) => self.handle(&line, Origin(number)).await,
                Err(error) => Err(AgentError::new(error.to_string())),
            };
            if let Err(error) = handled {
                self.chunks.flush().await?;
                return Err(error);
            }
        }
    }

    /// Whether the task has ended or waits for its client, so that the program's exit has no effect on the task.
    pub(super) fn is_settled(&self) -> bool {
        self.fate != Fate::Open
    }

    /// Writes the held chunk after a program failed.
    pub(super) async fn flush(&mut self) -> Result<(), AgentError> {
        self.chunks.flush().await
    }

    /// Writes the held chunk as the last chunk.
    pub(super) async fn finish(&mut self) -> Result<(), AgentError> {
        self.chunks.finish().await
    }

    async fn handle(&mut self, line: &Piece, origin: Origin) -> Result<(), AgentError> {
        let content = line.bytes.trim_ascii();
        if self.fate == Fate::Ended {
            tracing::warn!(target: "agent", task = %self.turn.task_id(), "program: {origin} follows the end of the task; ignored");
            return Ok(());
        }
        if line.end == End::Limit {
            return Err(AgentError::new(format!("{origin} is longer than {}", Size(self.limits.piece as u64))));
        }
        if content.is_empty() {
            return Ok(());
        }
        match line::read(content) {
            Ok(Line::Text(text)) => {
                self.artifact = Some(self.chunks.id().clone());
                self.chunks.push(Part::text(text)).await
            }
            Ok(Line::Event(response)) => self.emit(origin, response).await,
            Err(complaint) => {
                // The program probably writes its log to stdout.
                let hint = if ["not JSON", "JSON, but"].iter().any(|start| complaint.starts_with(start)) {
                    line::HINT
                } else {
                    ""
                };
                Err(AgentError::new(format!("{origin}: {complaint}; the line is {}{hint}", line::shown(content))))
            }
        }
    }

    async fn emit(&mut self, origin: Origin, mut response: StreamResponse) -> Result<(), AgentError> {
        let mut next = self.fate;
        let mut ends_well = false;
        match &mut response {
            StreamResponse::ArtifactUpdate(update) => self.name(update),
            StreamResponse::StatusUpdate(update) => {
                let state = update.status.state;
                ends_well = matches!(state, TaskState::Completed | TaskState::InputRequired);
                next = Fate::of(state);
            }
            StreamResponse::Message(_) => next = Fate::Ended,
            StreamResponse::Task(_) => {}
        }
        if ends_well {
            self.chunks.finish().await?;
        } else {
            self.chunks.flush().await?;
        }
        self.turn.emit_from(origin, response).await?;
        self.fate = next;
        if matches!(next, Fate::Parked | Fate::Ended) {
            self.over.cancel();
        }
        Ok(())
    }

    /// Sets the id of an artifact if the program omitted the id.
    fn name(&mut self, update: &mut TaskArtifactUpdateEvent) {
        let id = &mut update.artifact.artifact_id;
        if id.is_empty() {
            *id = self.artifact.take().filter(|_| update.append).unwrap_or_else(ArtifactId::generate);
        }
        self.chunks.adopt(id);
        self.artifact = Some(id.clone());
    }
}

/// The state of a task after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    /// Waits for credentials; the program may still be running.
    Waits,
    /// Waits for the client.
    Parked,
    Ended,
}

impl Fate {
    fn of(state: TaskState) -> Self {
        match state {
            TaskState::AuthRequired => Self::Waits,
            TaskState::InputRequired => Self::Parked,
            state if state.is_terminal() => Self::Ended,
            _ => Self::Open,
        }
    }
}

/// The source of an event.
#[derive(Debug, Clone, Copy)]
struct Origin(u64);

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the program's output", self.0)
    }
}
