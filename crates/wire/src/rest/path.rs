//! Segments of a path. The path is split before it is decoded, so that an id can contain a slash.

use std::{borrow::Cow, fmt::Display};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters to encode in a path or a query: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The decoded segments of a path that begins with `/`. `None` if a segment is empty or not UTF-8.
pub(crate) fn segments(path: &str) -> Option<Vec<Segment<'_>>> {
    path.strip_prefix('/')?.split('/').map(Segment::decode).collect()
}

/// One segment of a path.
pub(crate) struct Segment<'a> {
    text: Cow<'a, str>,
    /// The position of the last colon that was not percent-encoded.
    colon: Option<usize>,
}

impl<'a> Segment<'a> {
    fn decode(raw: &'a str) -> Option<Self> {
        let text = percent_decode_str(raw).decode_utf8().ok().filter(|text| !text.is_empty())?;
        let tail = raw.rsplit_once(':').and_then(|(_, tail)| percent_decode_str(tail).decode_utf8().ok());
        let colon = tail.map(|tail| text.len() - tail.len() - 1);
        Some(Self { text, colon })
    }

    /// A segment with this text, for paths that name the same resource differently.
    #[cfg(any(feature = "v0-2", feature = "v0-3"))]
    pub(crate) fn of(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), colon: None }
    }

    /// The text of the segment, with the verb.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the last colon, and the verb after the colon. Some clients encode the colon: if `encoded` is set
    /// and the segment has no plain colon, an encoded colon counts.
    pub(crate) fn split_verb(&self, encoded: bool) -> Option<(&str, &str)> {
        let colon = self.colon.or_else(|| self.text.rfind(':').filter(|_| encoded))?;
        Some((&self.text[..colon], &self.text[colon + 1..]))
    }
}

/// Encodes a text as one segment of a path, or as one value in a query.
pub(crate) fn encode(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, ENCODED)
}
