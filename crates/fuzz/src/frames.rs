//! The frames of gRPC, in whatever pieces they come.

use bytes::Bytes;
use nuncio_wire::proto::frame::{self, FrameError, Frames};

/// A message over this is refused.
const LIMIT: usize = 256;

/// The first byte says how the rest is cut into pieces; that must make no difference.
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

/// The messages, and how the body ended.
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
