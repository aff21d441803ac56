//! `stream`, `append-first`, `replace`: artifacts in chunks.

use std::time::Duration;

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part, StreamResponse, TaskArtifactUpdateEvent};

use crate::waits;

const MOST_CHUNKS: u32 = 1_000_000;
const LARGEST_CHUNK: usize = 1 << 24;
const USAGE: &str =
    "usage: `stream N [every=MS] [size=BYTES] [after=MS] [asks]`, with N up to 1000000 and BYTES up to 16777216";

/// Writes an artifact in many chunks: `stream N [every=MS] [size=BYTES] [after=MS] [asks]`.
///
/// `after` is the time between the state working and the first chunk, so that other readers can join. `asks` waits for
/// a second message with any text, for the same purpose. `every` is the time between two chunks.
pub(crate) async fn stream(turn: &Turn, arguments: &str) -> Result<(), AgentError> {
    match Plan::read(arguments) {
        None => turn.reject(USAGE).await,
        Some(plan) if plan.asks => turn.ask("say when").await,
        Some(plan) => write(turn, plan).await,
    }
}

/// The plan of a stream with `asks`; `None` for another stream.
pub(crate) fn asking(arguments: &str) -> Option<Plan> {
    Plan::read(arguments).filter(|plan| plan.asks)
}

/// Writes the chunks.
pub(crate) async fn write(turn: &Turn, plan: Plan) -> Result<(), AgentError> {
    turn.begin().await?;
    let mut artifact = turn.artifact("stream-1");
    let mut wait = plan.after;
    for number in 1..=plan.chunks {
        if !wait.is_zero() {
            waits::work(turn, wait).await?;
        }
        if turn.cancelled().is_cancelled() {
            break;
        }
        if number == plan.chunks {
            return artifact.finish(plan.chunk(number)).await;
        }
        artifact.chunk(plan.chunk(number)).await?;
        wait = plan.every;
    }
    Ok(())
}

/// The parameters of `stream`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    chunks: u32,
    every: Duration,
    size: Option<usize>,
    after: Duration,
    asks: bool,
}

impl Plan {
    fn read(arguments: &str) -> Option<Self> {
        let mut words = arguments.split_whitespace();
        let chunks = words.next()?.parse().ok().filter(|chunks| *chunks <= MOST_CHUNKS)?;
        let mut plan = Self { chunks, every: Duration::ZERO, size: None, after: Duration::ZERO, asks: false };
        for word in words {
            if word == "asks" {
                plan.asks = true;
                continue;
            }
            match word.split_once('=')? {
                ("every", milliseconds) => plan.every = Duration::from_millis(milliseconds.parse().ok()?),
                ("after", milliseconds) => plan.after = Duration::from_millis(milliseconds.parse().ok()?),
                ("size", bytes) => plan.size = Some(bytes.parse().ok().filter(|bytes| *bytes <= LARGEST_CHUNK)?),
                _ => return None,
            }
        }
        Some(plan)
    }

    /// The text of a chunk: its number, padded with dots up to the size, if a size is given.
    fn chunk(&self, number: u32) -> String {
        let mut text = format!("chunk {number}\n");
        if let Some(size) = self.size {
            text.truncate(size);
            text.push_str(&".".repeat(size - text.len()));
        }
        text
    }
}

/// Begins with an append to an artifact that does not exist yet.
pub(crate) async fn append_first(turn: &Turn, _: &str) -> Result<(), AgentError> {
    for (text, last_chunk) in [("first ", false), ("second", true)] {
        let artifact = Artifact::new("append-1", vec![Part::text(text)]);
        let update = TaskArtifactUpdateEvent { artifact, append: true, last_chunk, ..Default::default() };
        turn.emit(StreamResponse::ArtifactUpdate(update)).await?;
    }
    Ok(())
}

/// Sends an artifact twice; the second version replaces the first.
pub(crate) async fn replace(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    for text in ["first version", "second version"] {
        turn.add_artifact(Artifact::new("replace-1", vec![Part::text(text)])).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_stream_are_parsed_or_refused() {
        let plan = Plan::read(" 3 after=700 every=5 size=12").unwrap();
        let [every, after] = [5, 700].map(Duration::from_millis);
        assert_eq!(plan, Plan { chunks: 3, every, size: Some(12), after, asks: false });
        assert_eq!(plan.chunk(2), "chunk 2\n....");
        assert_eq!(Plan { size: Some(3), ..plan }.chunk(2), "chu");
        for refused in
            ["", "of consciousness", "1000001", "-1", "3 every", "3 size=16777217", "3 after=-1", "3 of=4", "3 asks=1"]
        {
            assert_eq!(Plan::read(refused), None, "{refused}");
        }
    }
}
