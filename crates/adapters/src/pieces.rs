//! Splits a program's output into pieces at a delimiter, with bounded memory. All adapters use this reader.

use std::io;

use bytes::BytesMut;
use memchr::memmem::Finder;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::size::Size;

/// The size of a read from the operating system.
const READ: usize = 16 * 1024;

/// Splits the data of a reader at each delimiter.
///
/// The future of [`next`](Self::next) can be dropped without loss of data.
#[derive(Debug)]
pub(crate) struct Pieces<R> {
    reader: R,
    delimiter: Finder<'static>,
    piece_limit: usize,
    output_limit: u64,
    buffer: BytesMut,
    /// The length of the buffer's start without a delimiter.
    searched: usize,
    read: u64,
    ended: bool,
}

/// A piece, without its delimiter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) bytes: BytesMut,
    pub(crate) end: End,
}

/// The reason for the end of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The delimiter.
    Delimiter,
    /// The size limit; the next piece continues.
    Limit,
    /// The end of the output; a piece with this end is never empty.
    Output,
}

/// The reason for a missing piece.
#[derive(Debug, Error)]
pub(crate) enum PiecesError {
    #[error("the program wrote more than {}", Size(*.0))]
    OutputLimit(u64),
    #[error("the program's output cannot be read: {0}")]
    Read(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Pieces<R> {
    /// Splits at `delimiter` (not empty) and at `piece_limit` bytes.
    pub(crate) fn new(reader: R, delimiter: &[u8], piece_limit: usize) -> Self {
        Self {
            reader,
            delimiter: Finder::new(delimiter).into_owned(),
            piece_limit: piece_limit.max(1),
            output_limit: u64::MAX,
            buffer: BytesMut::new(),
            searched: 0,
            read: 0,
            ended: false,
        }
    }

    /// Fails after this number of bytes in total.
    pub(crate) fn with_output_limit(mut self, bytes: u64) -> Self {
        self.output_limit = bytes;
        self
    }

    /// The next piece; `None` at the end of the output.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, PiecesError> {
        loop {
            if let Some(piece) = self.cut() {
                return Ok(Some(piece));
            }
            if self.ended {
                return Ok(None);
            }
            self.buffer.reserve(READ);
            let read = self.reader.read_buf(&mut self.buffer).await?;
            self.ended = read == 0;
            self.read += read as u64;
            if self.read > self.output_limit {
                return Err(PiecesError::OutputLimit(self.output_limit));
            }
        }
    }

    /// The next piece, if the buffer contains the whole piece.
    fn cut(&mut self) -> Option<Piece> {
        let delimiter = self.delimiter.needle().len();
        if let Some(found) = self.delimiter.find(&self.buffer[self.searched..]) {
            let length = self.searched + found;
            if length <= self.piece_limit {
                self.searched = 0;
                let mut bytes = self.buffer.split_to(length + delimiter);
                bytes.truncate(length);
                return Some(Piece { bytes, end: End::Delimiter });
            }
        } else {
            self.searched = self.buffer.len().saturating_sub(delimiter - 1);
        }
        // A delimiter that starts at the limit must be in the buffer completely before the decision.
        if self.buffer.len() >= self.piece_limit + delimiter {
            self.searched = 0;
            return Some(Piece { bytes: self.buffer.split_to(self.piece_limit), end: End::Limit });
        }
        if self.ended && !self.buffer.is_empty() {
            self.searched = 0;
            let length = self.buffer.len().min(self.piece_limit);
            let end = if length < self.buffer.len() { End::Limit } else { End::Output };
            return Some(Piece { bytes: self.buffer.split_to(length), end });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cut(output: &[u8], delimiter: &str, limit: usize) -> Vec<(String, End)> {
        let mut pieces = Pieces::new(output, delimiter.as_bytes(), limit);
        let mut all = Vec::new();
        while let Some(piece) = pieces.next().await.unwrap() {
            all.push((String::from_utf8(piece.bytes.to_vec()).unwrap(), piece.end));
        }
        all
    }

    fn piece(text: &str, end: End) -> (String, End) {
        (text.to_owned(), end)
    }

    #[tokio::test]
    async fn a_delimiter_ends_a_piece_and_an_empty_rest_is_not_a_piece() {
        use End::{Delimiter, Output};
        assert_eq!(cut(b"", "\n", 10).await, []);
        assert_eq!(cut(b"a\nb\n", "\n", 10).await, [piece("a", Delimiter), piece("b", Delimiter)]);
        assert_eq!(cut(b"a\n\nb", "\n", 10).await, [piece("a", Delimiter), piece("", Delimiter), piece("b", Output)]);
        assert_eq!(cut(b"a--b-c--", "--", 10).await, [piece("a", Delimiter), piece("b-c", Delimiter)]);
    }

    #[tokio::test]
    async fn a_piece_over_the_limit_continues_in_the_next_piece() {
        use End::{Delimiter, Limit, Output};
        assert_eq!(cut(b"abcde\n", "\n", 2).await, [piece("ab", Limit), piece("cd", Limit), piece("e", Delimiter)]);
        assert_eq!(cut(b"ab--cd", "--", 2).await, [piece("ab", Delimiter), piece("cd", Output)]);
        assert_eq!(cut(b"abc", "--", 2).await, [piece("ab", Limit), piece("c", Output)]);
    }

    #[tokio::test]
    async fn a_delimiter_in_two_reads_is_found() {
        let reader = (&b"ab-"[..]).chain(&b"-cd"[..]);
        let mut pieces = Pieces::new(reader, b"--", 10);
        assert_eq!(pieces.next().await.unwrap().unwrap().bytes, "ab");
        assert_eq!(pieces.next().await.unwrap().unwrap().bytes, "cd");
    }

    #[tokio::test]
    async fn output_over_its_limit_is_an_error() {
        let mut pieces = Pieces::new(&b"abc\n"[..], b"\n", 10).with_output_limit(3);
        assert_eq!(pieces.next().await.unwrap_err().to_string(), "the program wrote more than 3 bytes");
    }
}
