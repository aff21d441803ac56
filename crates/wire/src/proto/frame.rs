//! Messages in the body of an HTTP/2 stream: a flag, a length of four bytes, the message, and so on.
//!
//! Nothing is ever compressed here: A2A's messages are small, and compression of secrets beside what others choose
//! gives them away.

use bytes::{Buf, Bytes, BytesMut};
use nuncio_model::{Error, ErrorKind};

/// How long the flag and the length are.
pub const HEADER: usize = 5;

/// Appends a frame with the message that `message` appends.
///
/// # Errors
///
/// [`FrameError::TooLarge`] for a message over the limit, and the error of `message`; `to` is then as it was.
pub fn write(
    to: &mut Vec<u8>,
    limit: usize,
    message: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let at = to.len();
    to.extend_from_slice(&[0; HEADER]);
    let result = message(to).and_then(|()| {
        let size = to.len() - at - HEADER;
        let length = u32::try_from(size).ok().filter(|_| size <= limit);
        let length = length.ok_or(FrameError::TooLarge { size, limit })?;
        to[at + 1..at + HEADER].copy_from_slice(&length.to_be_bytes());
        Ok(())
    });
    if result.is_err() {
        to.truncate(at);
    }
    result
}

/// Why a message cannot be written, or no more messages can be read from a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A message is over the limit.
    #[error("a message of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A message is compressed, which nobody agreed on.
    #[error("the message is compressed and no encoding was agreed on")]
    Compressed,
    /// The flag is none that gRPC knows.
    #[error("the body is not made of gRPC messages")]
    Garbled,
    /// The body ended inside a message.
    #[error("the body ended inside a message")]
    CutOff,
}

impl FrameError {
    /// The error that it is of a request; over the limit and compressed have the same code in an answer.
    fn kind(self) -> ErrorKind {
        match self {
            Self::TooLarge { .. } => ErrorKind::PayloadTooLarge,
            Self::Compressed => ErrorKind::MethodNotFound,
            Self::Garbled | Self::CutOff => ErrorKind::Parse,
        }
    }
}

impl From<FrameError> for Error {
    fn from(error: FrameError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// Takes a body apart into messages, as its pieces come in.
///
/// It keeps one message at most, and none over the limit.
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    rest: Bytes,
    partial: BytesMut,
}

impl Frames {
    /// Reads messages of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, rest: Bytes::new(), partial: BytesMut::new() }
    }

    /// Takes in the next piece of the body. [`next`](Self::next) must have given `None` before.
    pub fn push(&mut self, piece: Bytes) {
        debug_assert!(self.rest.is_empty(), "messages are taken out before more is put in");
        self.rest = piece;
    }

    /// The next message, or `None` if the pieces so far do not have all of it. A message in one piece is not copied.
    ///
    /// # Errors
    ///
    /// [`FrameError`]; nothing good comes after it.
    #[expect(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        if self.partial.is_empty() {
            let Some(size) = self.size(&self.rest)? else {
                self.keep(self.rest.len());
                return Ok(None);
            };
            if self.rest.len() >= HEADER + size {
                self.rest.advance(HEADER);
                return Ok(Some(self.rest.split_to(size)));
            }
            self.partial.reserve(HEADER + size);
            self.keep(self.rest.len());
            return Ok(None);
        }
        if self.partial.len() < HEADER {
            self.keep(HEADER - self.partial.len());
        }
        let Some(size) = self.size(&self.partial)? else { return Ok(None) };
        self.keep(HEADER + size - self.partial.len());
        if self.partial.len() < HEADER + size {
            return Ok(None);
        }
        let mut message = std::mem::take(&mut self.partial).freeze();
        message.advance(HEADER);
        Ok(Some(message))
    }

    /// To be called when the body has ended.
    ///
    /// # Errors
    ///
    /// [`FrameError::CutOff`] if it ended inside a message.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.partial.is_empty() && self.rest.is_empty() { Ok(()) } else { Err(FrameError::CutOff) }
    }

    /// Moves up to so many bytes to the message that has come in part.
    fn keep(&mut self, count: usize) {
        let count = count.min(self.rest.len());
        self.partial.extend_from_slice(&self.rest[..count]);
        self.rest.advance(count);
    }

    /// The size of the message that begins here, if its header is there.
    fn size(&self, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
        let Some(&[flag, a, b, c, d]) = bytes.first_chunk() else { return Ok(None) };
        match flag {
            0 => {}
            1 => return Err(FrameError::Compressed),
            _ => return Err(FrameError::Garbled),
        }
        let limit = self.limit;
        let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if size > limit { Err(FrameError::TooLarge { size, limit }) } else { Ok(Some(size)) }
    }
}
