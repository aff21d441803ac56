//! A part: the smallest piece of content (section 4.1.6).

#[cfg(feature = "files")]
mod file;

use std::fmt;

use base64::{
    Engine as _, alphabet,
    engine::{
        GeneralPurpose,
        general_purpose::{NO_PAD, STANDARD},
    },
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IgnoredAny, MapAccess},
    ser::SerializeMap,
};

use crate::{
    data::Data,
    json::{Field, Key, Struct, field_by_serde, next_field},
};

/// The content of a part: exactly one of four kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// Text; may be empty.
    Text(Box<str>),
    /// A file's bytes, inline; base64 in JSON.
    Raw(Box<[u8]>),
    /// A file by reference.
    Url(Box<str>),
    /// Structured data: any JSON value, `null` included.
    Data(Data),
}

/// A piece of a [`Message`](crate::Message) or an [`Artifact`](crate::Artifact): text, a file or data.
///
/// A part has 32 bytes, because a task can consist of many small chunks. Rare members are therefore boxed.
#[derive(Clone, PartialEq)]
pub struct Part {
    /// The content.
    pub content: PartContent,
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Rare {
    metadata: Option<Struct>,
    filename: Option<Box<str>>,
    media_type: Option<Box<str>>,
}

/// A borrowed [`Part`]: the items of [`Parts`](crate::Parts).
#[derive(Clone, Copy, PartialEq)]
pub struct PartRef<'a> {
    /// The content.
    pub content: PartContentRef<'a>,
    rare: Option<&'a Rare>,
}

/// The borrowed [`PartContent`] of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartContentRef<'a> {
    /// Text; may be empty.
    Text(&'a str),
    /// A file's bytes, inline; base64 in JSON.
    Raw(&'a [u8]),
    /// A file by reference.
    Url(&'a str),
    /// Structured data: any JSON value, `null` included.
    Data(&'a Data),
}

impl Part {
    /// A part with this content and no other member.
    pub fn new(content: PartContent) -> Self {
        Self { content, rare: None }
    }

    /// A text part.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }

    /// A part that carries bytes.
    pub fn raw(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::new(PartContent::Raw(bytes.into()))
    }

    /// A part that points to a file.
    pub fn url(url: impl Into<Box<str>>) -> Self {
        Self::new(PartContent::Url(url.into()))
    }

    /// A part of structured data: [`Data`], or a type with a conversion to JSON (`json!(…)`, a number, a list of texts
    /// …).
    pub fn data(data: impl Into<Data>) -> Self {
        Self::new(PartContent::Data(data.into()))
    }

    /// A part of structured data: any value that serde can write as JSON.
    ///
    /// # Errors
    ///
    /// See [`Data::of`].
    pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Data::of(value).map(Self::data)
    }

    /// Names the media type of the content, for example `image/png`.
    pub fn with_media_type(mut self, media_type: impl Into<Box<str>>) -> Self {
        self.rare().media_type = Some(media_type.into()).filter(|value| !value.is_empty());
        self.tidy()
    }

    /// Names the file.
    pub fn with_filename(mut self, filename: impl Into<Box<str>>) -> Self {
        self.rare().filename = Some(filename.into()).filter(|value| !value.is_empty());
        self.tidy()
    }

    /// Attaches metadata.
    pub fn with_metadata(mut self, metadata: Struct) -> Self {
        self.rare().metadata = Some(metadata);
        self
    }

    /// The media type, if set.
    pub fn media_type(&self) -> Option<&str> {
        PartRef::from(self).media_type()
    }

    /// The file name, if set.
    pub fn filename(&self) -> Option<&str> {
        PartRef::from(self).filename()
    }

    /// The metadata, if set.
    pub fn metadata(&self) -> Option<&Struct> {
        PartRef::from(self).metadata()
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        PartRef::from(self).as_text()
    }

    /// The data of a data part.
    pub fn as_data(&self) -> Option<&Data> {
        PartRef::from(self).as_data()
    }

    /// Whether the part is structured data with a vendor's media type, `application/vnd.…`. The framework of the sender
    /// can add such parts for its own use.
    pub fn is_vendor_data(&self) -> bool {
        let is_vendors =
            |media_type: &str| media_type.get(..16).is_some_and(|start| start.eq_ignore_ascii_case("application/vnd."));
        matches!(self.content, PartContent::Data(_)) && self.media_type().is_some_and(is_vendors)
    }

    /// Splits the part into content, metadata, filename and media type.
    #[expect(clippy::type_complexity, reason = "pieces without a name of their own")]
    pub fn into_pieces(self) -> (PartContent, Option<Struct>, Option<Box<str>>, Option<Box<str>>) {
        let rare = self.rare.map(|rare| *rare).unwrap_or_default();
        (self.content, rare.metadata, rare.filename, rare.media_type)
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn tidy(mut self) -> Self {
        self.rare = self.rare.filter(|rare| **rare != Rare::default());
        self
    }
}

impl<'a> PartRef<'a> {
    /// A text without other members.
    pub(crate) fn text(text: &'a str) -> Self {
        Self { content: PartContentRef::Text(text), rare: None }
    }

    /// Whether the part has no member except the content.
    pub fn is_bare(self) -> bool {
        self.rare.is_none()
    }

    /// The media type, if set.
    pub fn media_type(self) -> Option<&'a str> {
        self.rare?.media_type.as_deref()
    }

    /// The file name, if set.
    pub fn filename(self) -> Option<&'a str> {
        self.rare?.filename.as_deref()
    }

    /// The metadata, if set.
    pub fn metadata(self) -> Option<&'a Struct> {
        self.rare?.metadata.as_ref()
    }

    /// The text of a text part.
    pub fn as_text(self) -> Option<&'a str> {
        match self.content {
            PartContentRef::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The data of a data part.
    pub fn as_data(self) -> Option<&'a Data> {
        match self.content {
            PartContentRef::Data(data) => Some(data),
            _ => None,
        }
    }
}

impl<'a> From<&'a Part> for PartRef<'a> {
    #[inline]
    fn from(part: &'a Part) -> Self {
        let content = match &part.content {
            PartContent::Text(text) => PartContentRef::Text(text),
            PartContent::Raw(bytes) => PartContentRef::Raw(bytes),
            PartContent::Url(url) => PartContentRef::Url(url),
            PartContent::Data(data) => PartContentRef::Data(data),
        };
        Self { content, rare: part.rare.as_deref() }
    }
}

/// A copy of the borrowed part.
impl From<PartRef<'_>> for Part {
    fn from(part: PartRef<'_>) -> Self {
        let content = match part.content {
            PartContentRef::Text(text) => PartContent::Text(text.into()),
            PartContentRef::Raw(bytes) => PartContent::Raw(bytes.into()),
            PartContentRef::Url(url) => PartContent::Url(url.into()),
            PartContentRef::Data(data) => PartContent::Data(data.clone()),
        };
        Self { content, rare: part.rare.cloned().map(Box::new) }
    }
}

impl PartialEq<Part> for PartRef<'_> {
    fn eq(&self, other: &Part) -> bool {
        *self == PartRef::from(other)
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::text("")
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PartRef::from(self).fmt(f)
    }
}

impl fmt::Debug for PartRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Part");
        debug.field("content", &self.content);
        if let Some(rare) = &self.rare {
            debug.field("media_type", &rare.media_type);
            debug.field("filename", &rare.filename);
            debug.field("metadata", &rare.metadata);
        }
        debug.finish()
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        PartRef::from(self).serialize(to)
    }
}

impl Serialize for PartRef<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match self.content {
            PartContentRef::Text(text) => map.serialize_entry("text", text)?,
            PartContentRef::Raw(bytes) => map.serialize_entry("raw", &STANDARD.encode(bytes))?,
            PartContentRef::Url(url) => map.serialize_entry("url", url)?,
            PartContentRef::Data(data) => map.serialize_entry("data", data)?,
        }
        if let Some(rare) = self.rare {
            if let Some(metadata) = &rare.metadata {
                map.serialize_entry("metadata", metadata)?;
            }
            if let Some(filename) = &rare.filename {
                map.serialize_entry("filename", filename)?;
            }
            if let Some(media_type) = &rare.media_type {
                map.serialize_entry("mediaType", media_type)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PartVisitor)
    }
}

field_by_serde!(Part);

struct PartVisitor;

impl<'de> de::Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object (Part)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut text: Option<Box<str>> = None;
        let mut raw: Option<Base64> = None;
        let mut url: Option<Box<str>> = None;
        let mut data: Option<Data> = None;
        let mut rare = Rare::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match &*key.0 {
                "text" => text = next_field(&mut map)?,
                "raw" => raw = map.next_value()?,
                "url" => url = next_field(&mut map)?,
                "data" => data = Some(map.next_value()?),
                "metadata" => rare.metadata = next_field(&mut map)?,
                "filename" => rare.filename = Field::settle(next_field(&mut map)?),
                "mediaType" | "media_type" => rare.media_type = Field::settle(next_field(&mut map)?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let content = one_content(text, raw, url, data)?;
        let rare = (rare != Rare::default()).then(|| Box::new(rare));
        Ok(Part { content, rare })
    }
}

#[expect(clippy::match_same_arms, reason = "the arms are in order of precedence")]
/// The content member that is set. A member with an explicit default (`""`, `null`) does not hide another member.
fn one_content<E: de::Error>(
    text: Option<Box<str>>,
    raw: Option<Base64>,
    url: Option<Box<str>>,
    data: Option<Data>,
) -> Result<PartContent, E> {
    let filled = |member: &Option<Box<str>>| member.as_ref().is_some_and(|value| !value.is_empty());
    let value = data.as_ref().is_some_and(|value| !value.is_null());
    let bytes = raw.as_ref().is_some_and(|raw| !raw.0.is_empty());
    let set = [filled(&text), bytes, filled(&url), value];
    if set.iter().filter(|set| **set).count() > 1 {
        return Err(E::custom("a part carries exactly one of text, raw, url and data; more than one is set"));
    }
    match (set, text, raw, url, data) {
        ([true, ..], Some(text), ..) => Ok(PartContent::Text(text)),
        ([_, true, ..], _, Some(raw), ..) => Ok(PartContent::Raw(raw.0)),
        ([_, _, true, _], _, _, Some(url), _) => Ok(PartContent::Url(url)),
        ([.., true], .., Some(data)) => Ok(PartContent::Data(data)),
        // No member is set to more than its default: the first present member counts.
        (_, Some(text), ..) => Ok(PartContent::Text(text)),
        (_, None, Some(_), ..) => Ok(PartContent::Raw(Box::default())),
        (_, None, None, Some(url), _) => Ok(PartContent::Url(url)),
        (_, None, None, None, Some(data)) => Ok(PartContent::Data(data)),
        (_, None, None, None, None) => Err(E::custom("a part needs one of text, raw, url and data")),
    }
}

/// Bytes in their JSON form. They are decoded during reading, so that an error names their member.
struct Base64(Box<[u8]>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Base64Visitor;
        impl de::Visitor<'_> for Base64Visitor {
            type Value = Base64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a base64 string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
                decode_base64(text).map(Base64).map_err(|reason| E::custom(format_args!("raw is {reason}")))
            }
        }
        from.deserialize_str(Base64Visitor)
    }
}

/// Like other lenient readers: ignore the unused bits after the last byte.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Reads base64 in the standard or the URL-safe alphabet, with or without padding. The unused bits after the last byte
/// are ignored. The error is the reason.
pub fn decode_base64(text: &str) -> Result<Box<[u8]>, String> {
    let standard: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    LENIENT.decode(standard).map(Vec::into_boxed_slice).map_err(|error| format!("not base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Part, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_part_has_32_bytes() {
        assert_eq!(size_of::<Part>(), 32);
    }

    #[test]
    fn an_explicit_default_does_not_hide_a_set_member() {
        for json in [r#"{"text":"a","url":"","data":null}"#, r#"{"url":"","raw":null,"text":"a"}"#] {
            assert_eq!(read(json).unwrap(), Part::text("a"), "{json}");
        }
        assert_eq!(read(r#"{"text":"","data":3}"#).unwrap(), Part::data(3));
    }

    #[test]
    fn empty_text_and_null_data_are_content() {
        assert_eq!(read(r#"{"text":""}"#).unwrap(), Part::text(""));
        assert_eq!(read(r#"{"data":null}"#).unwrap(), Part::data(serde_json::Value::Null));
    }

    #[test]
    fn two_members_or_none_are_refused() {
        assert!(read(r#"{"text":"a","url":"b"}"#).unwrap_err().to_string().contains("more than one"));
        assert!(read("{}").unwrap_err().to_string().contains("one of text, raw, url and data"));
    }

    #[test]
    fn base64_is_read_in_every_form() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(read(&format!(r#"{{"raw":"{text}"}}"#)).unwrap(), Part::raw([0xfb, 0xff]), "{text}");
        }
        // The unused bits after the last byte.
        for text in ["+/9=", "+/-", "-_-=", "-__"] {
            assert_eq!(read(&format!(r#"{{"raw":"{text}"}}"#)).unwrap(), Part::raw([0xfb, 0xff]), "{text}");
        }
        assert_eq!(decode_base64("AAF=").unwrap(), Box::from([0, 1]));
        for text in ["A", "AAAAA", "A*==", "AA=A", "ä"] {
            assert!(read(&format!(r#"{{"raw":"{text}"}}"#)).unwrap_err().to_string().contains("not base64"), "{text}");
        }
        assert_eq!(serde_json::to_string(&Part::raw([0xfb, 0xff])).unwrap(), r#"{"raw":"+/8="}"#);
    }
}
