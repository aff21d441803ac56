//! Frames messages in the body of an HTTP/2 stream: a flag, a length of four bytes, the message, and so on.
//!
//! Messages are never compressed. The messages of A2A are small, and the compressed size of a secret together with text
//! of an attacker reveals the secret.

use bytes::{Buf, Bytes, BytesMut};
use nuncio_model::{Error, ErrorKind};

/// The size of the flag and the length, in bytes.
pub const HEADER: usize = 5;

/// Appends a frame with the message that `message` appends.
///
/// # Errors
///
/// [`FrameError::TooLarge`] if the message exceeds the limit, or the error of `message`. On failure `to` is unchanged.
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

/// The reason why a message cannot be written, or why no more messages can be read from a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A message exceeds the limit.
    #[error("a message of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// The size of the message, in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A message is compressed, although no compression was negotiated.
    #[error("the message is compressed, but no compression was negotiated")]
    Compressed,
    /// gRPC does not define this flag.
    #[error("the body does not consist of gRPC messages")]
    Garbled,
    /// The body ended inside a message.
    #[error("the body ended inside a message")]
    CutOff,
}

impl FrameError {
    /// The kind of the error for a request. In an answer, `TooLarge` and `Compressed` have the same code.
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

/// Splits a body into messages while the body arrives.
///
/// The buffer holds at most one message, and no message over the limit.
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    rest: Bytes,
    partial: BytesMut,
}

impl Frames {
    /// Creates a reader for messages of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, rest: Bytes::new(), partial: BytesMut::new() }
    }

    /// Adds the next chunk of the body. [`next`](Self::next) must have returned `None` before.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.rest.is_empty(), "all complete messages must be taken before the next chunk");
        self.rest = chunk;
    }

    /// The next message, or `None` if the message is incomplete. A message inside one chunk is not copied.
    ///
    /// # Errors
    ///
    /// [`FrameError`]. After an error the body cannot be read further.
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

    /// Checks the end of the body. The caller must call this method after the last chunk.
    ///
    /// # Errors
    ///
    /// [`FrameError::CutOff`] if the body ended inside a message.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.partial.is_empty() && self.rest.is_empty() { Ok(()) } else { Err(FrameError::CutOff) }
    }

    /// Moves up to `count` bytes to the incomplete message.
    fn keep(&mut self, count: usize) {
        let count = count.min(self.rest.len());
        self.partial.extend_from_slice(&self.rest[..count]);
        self.rest.advance(count);
    }

    /// The size of the message at the start of `bytes`, if the header is complete.
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
