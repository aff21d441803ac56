//! The stdout of a program as the chunks of an artifact.

use std::time::Duration;

use bytes::BytesMut;
use nuncio_engine::{AgentError, Turn};
use nuncio_model::Part;
use tokio::io::AsyncRead;

use crate::{
    chunks::Chunks,
    pieces::{End, Pieces, PiecesError},
    program::{ProgramLimits, Pulse},
    size::Size,
};

/// The maximum delay of a line. A line is held back until the next line or the end of the output, because only then the
/// line is known to be the last or not.
const MAX_DELAY: Duration = Duration::from_millis(50);

/// Reads the output of a program and writes chunks.
#[derive(Debug)]
pub(super) struct Output<'a> {
    chunks: Chunks<'a>,
    limits: &'a ProgramLimits,
    delimiter: Option<&'a [u8]>,
    /// The output from the first line that is not UTF-8; sent at the end. `None` if all lines are UTF-8.
    binary: Option<BytesMut>,
    /// The first bytes of a character that the size limit of a piece has split.
    torn: BytesMut,
}

impl<'a> Output<'a> {
    pub(super) fn new(turn: &'a Turn, limits: &'a ProgramLimits, delimiter: Option<&'a [u8]>) -> Self {
        let max_delay = delimiter.is_none().then_some(MAX_DELAY);
        Self { chunks: Chunks::new(turn, max_delay), limits, delimiter, binary: None, torn: BytesMut::new() }
    }

    /// Reads to the end.
    pub(super) async fn read(&mut self, stdout: impl AsyncRead + Unpin, pulse: &Pulse) -> Result<(), AgentError> {
        let mut pieces = Pieces::new(stdout, self.delimiter.unwrap_or(b"\n"), self.limits.piece)
            .with_output_limit(self.limits.output);
        loop {
            let next = tokio::select! {
                biased;
                next = pulse.listen(pieces.next()) => next,
                () = self.chunks.due() => {
                    self.chunks.flush().await?;
                    continue;
                }
            };
            let piece = match next {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => return self.fail(error).await,
            };
            match self.delimiter {
                Some(_) if piece.end == End::Limit => {
                    self.chunks.flush().await?;
                    let limit = Size(self.limits.piece as u64);
                    return Err(AgentError::new(format!("a piece of the program's output is longer than {limit}")));
                }
                Some(_) => self.chunks.push(part(piece.bytes)).await?,
                None => self.line(piece.bytes, piece.end).await?,
            }
        }
        if !self.torn.is_empty() {
            self.binary.get_or_insert_default().unsplit(std::mem::take(&mut self.torn));
        }
        match self.binary.take() {
            Some(rest) => self.chunks.push(bytes(rest)).await,
            None => Ok(()),
        }
    }

    /// Writes the held chunk after a program failed.
    pub(super) async fn flush(&mut self) -> Result<(), AgentError> {
        self.chunks.flush().await
    }

    /// Writes the held chunk as the last chunk.
    pub(super) async fn finish(&mut self) -> Result<(), AgentError> {
        self.chunks.finish().await
    }

    async fn line(&mut self, line: BytesMut, end: End) -> Result<(), AgentError> {
        let mut line = match std::mem::take(&mut self.torn) {
            torn if torn.is_empty() => line,
            mut torn => {
                torn.extend_from_slice(&line);
                torn
            }
        };
        if end == End::Delimiter {
            line.extend_from_slice(b"\n");
        }
        if let Some(binary) = &mut self.binary {
            binary.extend_from_slice(&line);
            if binary.len() < self.limits.piece {
                return Ok(());
            }
            let full = binary.split();
            return self.chunks.push(bytes(full)).await;
        }
        match std::str::from_utf8(&line) {
            Ok(_) => self.chunks.push(part(line)).await,
            Err(error) if end == End::Limit && error.error_len().is_none() => {
                self.torn = line.split_off(error.valid_up_to());
                self.chunks.push(part(line)).await
            }
            Err(_) => {
                self.binary = Some(line);
                Ok(())
            }
        }
    }

    async fn fail(&mut self, error: PiecesError) -> Result<(), AgentError> {
        self.chunks.flush().await?;
        Err(AgentError::new(error.to_string()).with_source(error))
    }
}

/// A text part if the piece is UTF-8, otherwise a part of bytes.
fn part(piece: BytesMut) -> Part {
    match String::from_utf8(piece.into()) {
        Ok(text) => Part::text(text),
        Err(error) => bytes(BytesMut::from(error.as_bytes())),
    }
}

fn bytes(bytes: BytesMut) -> Part {
    Part::raw(Vec::from(bytes)).with_media_type("application/octet-stream")
}
