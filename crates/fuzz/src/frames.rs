//! The frames of gRPC, in pieces of any size.

use bytes::Bytes;
use nuncio_wire::proto::frame::{self, FrameError, Frames};

/// A message larger than this is refused.
const LIMIT: usize = 256;

/// The first byte determines how the rest is split into pieces; the pieces must not affect the result.
pub(crate) fn frames(input: &[u8]) {
    let Some((cut, body)) = input.split_first() else { return };
    let whole = read(&[body]);
    let size = usize::from(*cut) % 16 + 1;
    assert_eq!(read(&body.chunks(size).collect::<Vec<_>>()), whole);
    let (messages, end) = whole;
    let mut to = Vec::new();
    for message in &messages {
        frame::write(&mut to, LIMIT, |to| {
            to.extend_from_slice(message);
            Ok(())
        })
        .expect("a message that was read is within the limit");
    }
    assert!(body.starts_with(&to), "frames are written as they were read");
    assert_eq!(end == Ok(()), to.len() == body.len());
}

/// The messages, and the end of the body.
fn read(pieces: &[&[u8]]) -> (Vec<Bytes>, Result<(), FrameError>) {
    let (mut frames, mut messages) = (Frames::new(LIMIT), Vec::new());
    for piece in pieces {
        frames.push(Bytes::copy_from_slice(piece));
        loop {
            match frames.next() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    let end = frames.finish();
    (messages, end)
}
