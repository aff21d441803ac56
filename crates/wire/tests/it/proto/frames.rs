//! Messages in a body that arrives in chunks.

use bytes::Bytes;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::proto::frame::{FrameError, Frames, write};
use proptest::prelude::*;

fn body(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for message in messages {
        write(&mut body, usize::MAX, |to| {
            to.extend_from_slice(message);
            Ok(())
        })
        .unwrap();
    }
    body
}

fn read(frames: &mut Frames, pieces: impl IntoIterator<Item = Bytes>) -> Result<Vec<Bytes>, FrameError> {
    let mut messages = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(message) = frames.next()? {
            messages.push(message);
        }
    }
    frames.finish()?;
    Ok(messages)
}

proptest! {
    #[test]
    fn messages_survive_any_split_of_the_body(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
        cuts in prop::collection::vec(1..12_usize, 1..8),
    ) {
        let mut body = Bytes::from(body(&messages));
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if body.is_empty() {
                break;
            }
            pieces.push(body.split_to((*cut).min(body.len())));
        }
        prop_assert_eq!(read(&mut Frames::new(20), pieces).unwrap(), messages);
    }
}

#[test]
fn a_message_over_the_limit_is_refused_before_it_is_buffered() {
    let body = Bytes::from(body(&[vec![7; 21]]));
    let error = FrameError::TooLarge { size: 21, limit: 20 };
    assert_eq!(read(&mut Frames::new(20), [body.slice(..5)]), Err(error));
    assert_eq!(read(&mut Frames::new(20), [body.slice(..3), body.slice(3..6)]), Err(error));
    assert_eq!(Error::from(error).kind(), ErrorKind::PayloadTooLarge);
}

#[test]
fn a_message_over_the_limit_is_not_written() {
    let mut body = b"before".to_vec();
    let error = write(&mut body, 2, |to| {
        to.extend_from_slice(b"abc");
        Ok(())
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::PayloadTooLarge);
    assert_eq!(body, b"before");
}

#[test]
fn other_flags_and_truncated_bodies_are_refused() {
    let read = |body: &'static [u8]| read(&mut Frames::new(20), [Bytes::from_static(body)]);
    assert_eq!(read(b"\x01\0\0\0\0"), Err(FrameError::Compressed));
    assert_eq!(read(b"\x02\0\0\0\0"), Err(FrameError::Garbled));
    assert_eq!(read(b"\0\0\0"), Err(FrameError::CutOff));
    assert_eq!(read(b"\0\0\0\0\x02a"), Err(FrameError::CutOff));
}
