//! A streaming decoder for `Transfer-Encoding: chunked`.

use anyhow::{Result, bail};

/// The position of the next byte in the coding.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    state: ChunkState,
}

#[derive(Debug, Default, Clone, Copy)]
enum ChunkState {
    #[default]
    Start,
    Size(usize),
    Extension(usize),
    Data(usize),
    DataEnd,
    Trailer {
        empty: bool,
    },
    End,
}

/// The next piece of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Bytes of the body.
    Data(&'a [u8]),
    /// The input is consumed; the body continues.
    More,
    /// The body ended.
    End,
}

impl Chunked {
    /// Removes the next piece from the start of `input`.
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>> {
        loop {
            if let ChunkState::End = self.state {
                return Ok(Piece::End);
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Piece::More);
            };
            if let ChunkState::Data(left) = self.state {
                let (data, after) = input.split_at(left.min(input.len()));
                *input = after;
                self.state = if data.len() == left { ChunkState::DataEnd } else { ChunkState::Data(left - data.len()) };
                return Ok(Piece::Data(data));
            }
            *input = rest;
            self.state = self.state.after(byte)?;
        }
    }
}

impl ChunkState {
    fn after(self, byte: u8) -> Result<Self> {
        Ok(match (self, byte) {
            (Self::Start, _) if byte.is_ascii_hexdigit() => Self::Size(digit(byte)),
            (Self::Size(size), _) if byte.is_ascii_hexdigit() && size < usize::MAX >> 8 => {
                Self::Size(size << 4 | digit(byte))
            }
            (Self::Size(size) | Self::Extension(size), b'\n') => match size {
                0 => Self::Trailer { empty: true },
                _ => Self::Data(size),
            },
            (Self::Size(size), b';' | b' ' | b'\r') | (Self::Extension(size), _) => Self::Extension(size),
            (Self::DataEnd | Self::Trailer { .. }, b'\r') => self,
            (Self::DataEnd, b'\n') => Self::Start,
            (Self::Trailer { empty: true }, b'\n') => Self::End,
            (Self::Trailer { empty }, _) => Self::Trailer { empty: !empty && byte == b'\n' },
            _ => bail!("broken chunked coding at byte {byte:#04x}"),
        })
    }
}

fn digit(byte: u8) -> usize {
    char::from(byte).to_digit(16).map_or(0, |digit| digit as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool)> {
        let (mut chunked, mut body) = (Chunked::default(), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            loop {
                match chunked.next(&mut input)? {
                    Piece::Data(data) => body.extend_from_slice(data),
                    Piece::More => break,
                    Piece::End => return Ok((body, input.is_empty())),
                }
            }
        }
        bail!("no end of the body")
    }

    #[test]
    fn decodes_input_split_at_any_position() {
        let wire = b"5\r\nhello\r\n10;x=y\r\n, wide old world\r\n0\r\nt: v\r\n\r\n";
        for cut in 0..wire.len() {
            let (body, all) = decode(&[&wire[..cut], &wire[cut..]]).unwrap();
            assert_eq!((body.as_slice(), all), (b"hello, wide old world".as_slice(), true), "cut at {cut}");
        }
    }

    #[test]
    fn refuses_an_invalid_size() {
        assert!(decode(&[b"5\r\nhelloX"]).is_err());
        assert!(decode(&[b"xyz\r\n"]).is_err());
    }
}
