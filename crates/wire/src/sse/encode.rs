//! Writes server-sent events. One JSON document is one `data` line, because JSON contains no line breaks.
//!
//! Contrary to the standard, some readers also break lines at the line breaks of Unicode (U+0085, U+2028, U+2029).
//! Therefore these characters are written as JSON escapes, which have the same meaning.

use bytes::Bytes;
use memchr::{memchr2, memchr2_iter};

/// Appends an event with this data, which is JSON.
///
/// `id` is the sequence number of the event in the log of its task, for readers that reconnect. Data with line breaks
/// becomes several lines, as the standard requires. The JSON of this crate has no line breaks.
pub fn write_event(id: Option<u64>, data: &[u8], to: &mut Vec<u8>) {
    to.reserve(data.len() + 32);
    write_with(id, to, |to| write_data(data, to));
}

/// Writes an event. `data` writes the data directly into the frame and must not write line breaks.
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

/// JSON without line breaks, in the form that [`write_with`] writes.
pub fn escaped(json: Bytes) -> Bytes {
    if line_break(&json).is_none() {
        return json;
    }
    let mut to = json.to_vec();
    escape_line_breaks(&mut to, 0);
    to.into()
}

/// The line breaks of Unicode that are not line breaks in this format, and their JSON escapes.
const LINE_BREAKS: [(&str, &[u8]); 3] = [("\u{85}", b"\\u0085"), ("\u{2028}", b"\\u2028"), ("\u{2029}", b"\\u2029")];

/// These characters occur in JSON only inside of strings, so each can be replaced in place.
fn escape_line_breaks(to: &mut Vec<u8>, start: usize) {
    let Some((first, ..)) = line_break(&to[start..]) else { return };
    // The rest is rewritten from the first occurrence on. To move the rest for each occurrence would take quadratic
    // time.
    let tail = to.split_off(start + first);
    let mut rest = &tail[..];
    while let Some((at, length, escape)) = line_break(rest) {
        to.extend_from_slice(&rest[..at]);
        to.extend_from_slice(escape);
        rest = &rest[at + length..];
    }
    to.extend_from_slice(rest);
}

/// The position and length of the first such character, and its JSON escape.
fn line_break(text: &[u8]) -> Option<(usize, usize, &'static [u8])> {
    memchr2_iter(0xc2, 0xe2, text).find_map(|at| {
        let (character, escape) = LINE_BREAKS.iter().find(|(it, _)| text[at..].starts_with(it.as_bytes()))?;
        Some((at, character.len(), *escape))
    })
}

/// Writes an event of the given type. A stream of HTTP+JSON that breaks off ends with an event of the type `error`.
///
/// The type must not contain line breaks.
pub fn write_named(event: &str, data: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(b"event: ");
    to.extend_from_slice(event.as_bytes());
    to.push(b'\n');
    write_event(None, data, to);
}

/// Writes a comment. Readers skip comments. Comments keep an idle connection open.
///
/// The comment must not contain line breaks.
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
