//! Writing server-sent events. One JSON document is one `data` line: JSON holds no line breaks of its own.
//!
//! Some readers also break lines where only Unicode does (U+0085, U+2028, U+2029), against the standard; so these are
//! written as JSON escapes, which mean the same.

use bytes::Bytes;
use memchr::{memchr2, memchr2_iter};

/// Writes an event with this data, JSON, behind what is there.
///
/// `id` is the event's place in the task's log, for readers that come back. Data with line breaks in it, which our own
/// JSON never has, becomes several lines, as the standard wants.
pub fn write_event(id: Option<u64>, data: &[u8], to: &mut Vec<u8>) {
    to.reserve(data.len() + 32);
    write_with(id, to, |to| write_data(data, to));
}

/// Writes an event whose data is what `data` writes, which must be free of line breaks: JSON straight into the frame.
pub fn write_with(id: Option<u64>, to: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    if let Some(id) = id {
        to.extend_from_slice(b"id: ");
        crate::json::write(&id, to);
        to.push(b'\n');
    }
    to.extend_from_slice(b"data: ");
    let start = to.len();
    data(to);
    escape_line_breaks(to, start);
    to.extend_from_slice(b"\n\n");
}

/// JSON without line breaks, as [`write_with`] writes it.
pub fn escaped(json: Bytes) -> Bytes {
    if line_break(&json).is_none() {
        return json;
    }
    let mut to = json.to_vec();
    escape_line_breaks(&mut to, 0);
    to.into()
}

/// What breaks a line in Unicode, though not in this format, and how JSON spells it.
const LINE_BREAKS: [(&str, &[u8]); 3] = [("\u{85}", b"\\u0085"), ("\u{2028}", b"\\u2028"), ("\u{2029}", b"\\u2029")];

/// Such characters stand in JSON only inside of strings, so each can be replaced where it stands.
fn escape_line_breaks(to: &mut Vec<u8>, start: usize) {
    let Some((first, ..)) = line_break(&to[start..]) else { return };
    // Written anew from the first on: to move what follows each of many would take the square of the time.
    let tail = to.split_off(start + first);
    let mut rest = &tail[..];
    while let Some((at, length, escape)) = line_break(rest) {
        to.extend_from_slice(&rest[..at]);
        to.extend_from_slice(escape);
        rest = &rest[at + length..];
    }
    to.extend_from_slice(rest);
}

/// Where the first of these characters is, how long it is, and how JSON spells it.
fn line_break(text: &[u8]) -> Option<(usize, usize, &'static [u8])> {
    memchr2_iter(0xc2, 0xe2, text).find_map(|at| {
        let (character, escape) = LINE_BREAKS.iter().find(|(it, _)| text[at..].starts_with(it.as_bytes()))?;
        Some((at, character.len(), *escape))
    })
}

/// Writes an event of this type: `error`, where a stream of HTTP+JSON breaks off.
///
/// The name must be free of line breaks.
pub fn write_named(event: &str, data: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(b"event: ");
    to.extend_from_slice(event.as_bytes());
    to.push(b'\n');
    write_event(None, data, to);
}

/// Writes a comment, which readers skip: it keeps a quiet connection open.
///
/// The comment must be free of line breaks.
pub fn write_comment(comment: &str, to: &mut Vec<u8>) {
    to.extend_from_slice(b": ");
    to.extend_from_slice(comment.as_bytes());
    to.extend_from_slice(b"\n\n");
}

fn write_data(data: &[u8], to: &mut Vec<u8>) {
    let mut rest = data;
    while let Some(end) = memchr2(b'\n', b'\r', rest) {
        to.extend_from_slice(&rest[..end]);
        to.extend_from_slice(b"\ndata: ");
        let width = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + width..];
    }
    to.extend_from_slice(rest);
}
