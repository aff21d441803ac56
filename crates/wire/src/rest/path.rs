//! Segments of a path: cut before they are decoded, so that an id may hold a slash.

use std::{borrow::Cow, fmt::Display};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stands for itself in a path or a query: the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The decoded segments of a path that begins with `/`. `None` where one is empty or no UTF-8.
pub(crate) fn segments(path: &str) -> Option<Vec<Segment<'_>>> {
    path.strip_prefix('/')?.split('/').map(Segment::decode).collect()
}

/// One segment of a path.
pub(crate) struct Segment<'a> {
    text: Cow<'a, str>,
    /// Where the last colon that was not encoded stands.
    colon: Option<usize>,
}

impl<'a> Segment<'a> {
    fn decode(raw: &'a str) -> Option<Self> {
        let text = percent_decode_str(raw).decode_utf8().ok().filter(|text| !text.is_empty())?;
        let tail = raw.rsplit_once(':').and_then(|(_, tail)| percent_decode_str(tail).decode_utf8().ok());
        let colon = tail.map(|tail| text.len() - tail.len() - 1);
        Some(Self { text, colon })
    }

    /// A segment of this text, for a path whose words are spelled otherwise.
    #[cfg(any(feature = "v0-2", feature = "v0-3"))]
    pub(crate) fn of(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), colon: None }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the last colon, and the verb behind it. Only where the colon was encoded, as some clients do,
    /// and `encoded` allows for it, an encoded one counts.
    pub(crate) fn split_verb(&self, encoded: bool) -> Option<(&str, &str)> {
        let colon = self.colon.or_else(|| self.text.rfind(':').filter(|_| encoded))?;
        Some((&self.text[..colon], &self.text[colon + 1..]))
    }
}

/// A text as one segment of a path, or as one value in a query.
pub(crate) fn encode(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, ENCODED)
}
