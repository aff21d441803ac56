//! Server-sent events: the decoder reads the events that the encoder writes, however the network splits the bytes.

use nuncio_wire::sse::{Decoder, Event, TooLarge, write_comment, write_event, write_named, write_with};
use proptest::prelude::*;

fn decode(bytes: &[u8]) -> Vec<Event> {
    decode_pieces(&[bytes])
}

fn decode_pieces(pieces: &[&[u8]]) -> Vec<Event> {
    let mut decoder = Decoder::new(1 << 20);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(event) = decoder.pop().unwrap() {
            events.push(event);
        }
    }
    events
}

fn event(id: Option<&str>, name: Option<&str>, data: &str) -> Event {
    Event { id: id.map(str::to_owned), event: name.map(str::to_owned), data: data.to_owned() }
}

#[test]
fn one_document_is_one_line() {
    let mut to = Vec::new();
    write_event(Some(7), br#"{"a":"b\nc"}"#, &mut to);
    write_comment("ping", &mut to);
    write_named("error", b"{}", &mut to);
    write_with(None, &mut to, |to| to.extend_from_slice(b"[]"));
    let text = String::from_utf8(to).unwrap();
    assert_eq!(text, "id: 7\ndata: {\"a\":\"b\\nc\"}\n\n: ping\n\nevent: error\ndata: {}\n\ndata: []\n\n");
    let events = decode(text.as_bytes());
    assert_eq!(
        events,
        [
            event(Some("7"), None, r#"{"a":"b\nc"}"#),
            event(Some("7"), Some("error"), "{}"),
            event(Some("7"), None, "[]")
        ]
    );
    assert_eq!(events[0].sequence(), Some(7));
}

#[test]
fn line_breaks_in_data_become_line_feeds() {
    for (data, expected) in [("a\nb", "a\nb"), ("a\r\nb\rc", "a\nb\nc"), ("\n", "\n"), ("a\n", "a\n")] {
        let mut to = Vec::new();
        write_event(None, data.as_bytes(), &mut to);
        assert_eq!(decode(&to), [event(None, None, expected)], "{data:?}");
    }
}

#[test]
fn every_form_of_the_standard_is_read() {
    let cases: [(&str, Vec<Event>); 12] = [
        ("data:a\n\n", vec![event(None, None, "a")]),
        ("data:  a\n\n", vec![event(None, None, " a")]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", vec![event(None, None, "a"), event(None, None, "b")]),
        ("data: a\r\rdata: b\r\r", vec![event(None, None, "a"), event(None, None, "b")]),
        ("\u{feff}data: a\n\n", vec![event(None, None, "a")]),
        ("data: a\ndata: b\ndata\n\n", vec![event(None, None, "a\nb\n")]),
        (": x\n:\nfoo: bar\ndata: a\n\n", vec![event(None, None, "a")]),
        ("id: 1\n\ndata: a\n\n", vec![event(Some("1"), None, "a")]),
        ("id: 1\ndata: a\n\nid\ndata: b\n\n", vec![event(Some("1"), None, "a"), event(Some(""), None, "b")]),
        ("id: 1\0\ndata: a\n\n", vec![event(None, None, "a")]),
        ("event: error\n\ndata: a\n\n", vec![event(None, None, "a")]),
        ("data: a\n\ndata: half", vec![event(None, None, "a")]),
    ];
    for (text, expected) in cases {
        assert_eq!(decode(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn the_reconnection_time_of_a_server_is_read() {
    let mut decoder = Decoder::new(100);
    decoder.push(b"retry: 1500\nretry: soon\nid: 9\ndata: a\n\n");
    assert!(decoder.pop().unwrap().is_some());
    assert_eq!(decoder.retry(), Some(std::time::Duration::from_millis(1500)));
    assert_eq!(decoder.last_id(), Some("9"));
}

#[test]
fn an_event_over_the_limit_ends_the_stream() {
    let over = |pieces: &[&str]| {
        let mut decoder = Decoder::new(8);
        pieces.iter().find_map(|piece| {
            decoder.push(piece.as_bytes());
            loop {
                match decoder.pop() {
                    Ok(Some(_)) => {}
                    Ok(None) => return None,
                    Err(error) => return Some(error),
                }
            }
        })
    };
    assert_eq!(over(&["data: 1\n\n", "data: 2\n\n", ":a\n:b\n:c\n:d\n:e\n"]), None);
    assert_eq!(over(&["data: 123456789"]), Some(TooLarge { limit: 8 }));
    assert_eq!(over(&["data: 1234\n", "data: 56789\n"]), Some(TooLarge { limit: 8 }));
    assert_eq!(over(&[": a very long comment"]), Some(TooLarge { limit: 8 }));
    assert_eq!(over(&["id: a very long id\n"]), Some(TooLarge { limit: 8 }));
}

#[test]
fn a_large_event_in_small_chunks_takes_linear_time() {
    let data = "x".repeat(8 << 20);
    let mut decoder = Decoder::new(16 << 20);
    let text = format!("data: {data}\n\n");
    let mut events = 0;
    for piece in text.as_bytes().chunks(1024) {
        decoder.push(piece);
        events += usize::from(decoder.pop().unwrap().is_some_and(|event| event.data.len() == data.len()));
    }
    assert_eq!(events, 1);
}

/// A stream with every form that servers write.
fn streams() -> impl Strategy<Value = String> {
    let line_end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let line = prop_oneof![
        4 => "data: ?[a-z:é\u{2028} ]{0,6}",
        1 => "id: ?[0-9\0]{0,3}",
        1 => "event: ?[a-z]{0,3}",
        1 => ":[a-z]{0,4}",
        1 => "retry: [0-9a]{1,2}",
        3 => Just(String::new()),
    ];
    (proptest::bool::ANY, prop::collection::vec((line, line_end), 0..24)).prop_map(|(mark, lines)| {
        let lines: String = lines.into_iter().map(|(line, end)| line + end).collect();
        if mark { format!("\u{feff}{lines}") } else { lines }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(stream in streams(), mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let bytes = stream.as_bytes();
        let mut cuts: Vec<_> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        let whole = decode(bytes);
        prop_assert_eq!(decode_pieces(&pieces), whole.clone());
        let single: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(decode_pieces(&single), whole);
    }

    #[test]
    fn any_document_survives_a_round_trip(text in "[\u{85}\u{2028}\u{2029}]{0,3}.{0,40}", id in any::<Option<u64>>()) {
        let mut to = Vec::new();
        write_event(id, serde_json::to_string(&text).unwrap().as_bytes(), &mut to);
        let events = decode(&to);
        prop_assert_eq!(events.len(), 1);
        prop_assert_eq!(serde_json::from_str::<String>(&events[0].data).unwrap(), text);
        prop_assert_eq!(events[0].sequence(), id);
    }
}

#[test]
fn unicode_line_breaks_are_escaped() {
    let text = "a\u{2028}b\u{85}c\u{2029}\u{2028}d é \u{e2}";
    let json = serde_json::to_string(text).unwrap();
    let mut frame = Vec::new();
    write_event(None, json.as_bytes(), &mut frame);
    let frame = String::from_utf8(frame).unwrap();
    assert!(!frame.contains(['\u{2028}', '\u{2029}', '\u{85}']), "{frame}");
    let data = frame.trim().strip_prefix("data: ").unwrap();
    assert_eq!(serde_json::from_str::<String>(data).unwrap(), text);
}
