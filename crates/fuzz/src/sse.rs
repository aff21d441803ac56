//! Server-sent events, in pieces of any size.

use std::time::Duration;

use nuncio_wire::sse::{self, Decoder, Event, TooLarge};

/// An event larger than this is refused.
const LIMIT: usize = 256;

/// The first byte determines how the rest is split into pieces; the pieces must not affect the result.
pub(crate) fn sse(input: &[u8]) {
    let Some((cut, body)) = input.split_first() else { return };
    let size = usize::from(*cut) % 16 + 1;
    let whole = read(&[body]);
    assert_eq!(read(&body.chunks(size).collect::<Vec<_>>()), whole);
    for event in &whole.events {
        assert!(event.data.len() <= LIMIT && !event.data.is_empty());
        written(event);
    }
}

/// The result of a stream.
#[derive(Debug, PartialEq)]
struct Stream {
    events: Vec<Event>,
    end: Result<(), TooLarge>,
    retry: Option<Duration>,
    last_id: Option<String>,
}

fn read(pieces: &[&[u8]]) -> Stream {
    let (mut decoder, mut events, mut end) = (Decoder::new(LIMIT), Vec::new(), Ok(()));
    'pieces: for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.pop() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    end = Err(error);
                    break 'pieces;
                }
            }
        }
    }
    Stream { events, end, retry: decoder.retry(), last_id: decoder.last_id().map(str::to_owned) }
}

/// A written event must be read as the same event. Unicode line breaks are written as JSON escapes, so only JSON can
/// contain them.
fn written(event: &Event) {
    let mut to = Vec::new();
    sse::write_event(event.sequence(), event.data.as_bytes(), &mut to);
    let mut decoder = Decoder::new(usize::MAX);
    decoder.push(&to);
    let back = decoder.pop().expect("no limit").expect("a whole event");
    assert_eq!(back.sequence(), event.sequence());
    assert!(!back.data.contains(BREAKS));
    match serde_json::from_str::<serde_json::Value>(&event.data) {
        Ok(json) => assert_eq!(serde_json::from_str(&back.data).ok(), Some(json)),
        Err(_) if event.data.contains(BREAKS) => {}
        Err(_) => assert_eq!(back.data, event.data),
    }
}

const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
