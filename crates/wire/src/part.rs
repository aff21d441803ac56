//! Parts in the JSON of versions before 1.0. A member tells the kind of a part: text, file or data. The member is
//! `type` in 0.1 and `kind` in later versions.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_model::{
    Data, Leniency, Part, PartContentRef, PartRef, Parts, Struct, Value, decode_base64,
    json::{Field, Key},
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::Error,
    ser::{SerializeMap, SerializeSeq},
};

/// The metadata member that marks wrapped data. Data of a part must be an object before 1.0; other data is wrapped in
/// an object under `value`.
pub(crate) const WRAPPED: &str = "data_part_compat";

/// Writes a part with its kind in the member `tag`.
pub(crate) fn write<S: Serializer>(part: PartRef<'_>, tag: &'static str, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    let mut wrapped = false;
    match part.content {
        PartContentRef::Text(text) => {
            map.serialize_entry(tag, "text")?;
            map.serialize_entry("text", text)?;
        }
        PartContentRef::Raw(bytes) => {
            let bytes = STANDARD.encode(bytes);
            map.serialize_entry(tag, "file")?;
            map.serialize_entry("file", &FileOut { bytes: Some(&bytes), ..FileOut::of(part) })?;
        }
        PartContentRef::Url(url) => {
            map.serialize_entry(tag, "file")?;
            map.serialize_entry("file", &FileOut { uri: Some(url), ..FileOut::of(part) })?;
        }
        PartContentRef::Data(data) => {
            wrapped = !data.is_object();
            map.serialize_entry(tag, "data")?;
            if wrapped {
                map.serialize_entry("data", &Wrap { value: data })?;
            } else {
                map.serialize_entry("data", data)?;
            }
        }
    }
    match part.metadata() {
        metadata if wrapped => map.serialize_entry("metadata", &Flagged(metadata))?,
        Some(metadata) => map.serialize_entry("metadata", metadata)?,
        None => {}
    }
    map.end()
}

/// Writes parts with their kinds in the members `tag`.
pub(crate) fn write_all<S: Serializer>(parts: &Parts, tag: &'static str, to: S) -> Result<S::Ok, S::Error> {
    let mut seq = to.serialize_seq(Some(parts.len()))?;
    for part in parts {
        seq.serialize_element(&Tagged { part, tag })?;
    }
    seq.end()
}

struct Tagged<'a> {
    part: PartRef<'a>,
    tag: &'static str,
}

impl Serialize for Tagged<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(self.part, self.tag, to)
    }
}

/// Reads a part with either tag. Without a tag, the other members tell the kind.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Part, D::Error> {
    PartMembers::deserialize(from)?.part().map_err(D::Error::custom)
}

#[derive(Serialize)]
struct FileOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
}

impl<'a> FileOut<'a> {
    fn of(part: PartRef<'a>) -> Self {
        Self { bytes: None, uri: None, name: part.filename(), mime_type: part.media_type() }
    }
}

/// Data that is not an object, wrapped in an object.
#[derive(Serialize)]
pub(crate) struct Wrap<'a> {
    pub(crate) value: &'a Data,
}

/// Metadata with the member that marks wrapped data.
struct Flagged<'a>(Option<&'a Struct>);

impl Serialize for Flagged<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (key, value) in self.0.into_iter().flatten().filter(|(key, _)| *key != WRAPPED) {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(WRAPPED, &true)?;
        map.end()
    }
}

/// The members of a part.
#[derive(Deserialize)]
#[serde(expecting = "a part")]
struct PartMembers<'a> {
    #[serde(borrow, default)]
    kind: Option<Key<'a>>,
    #[serde(borrow, default, rename = "type")]
    old_kind: Option<Key<'a>>,
    #[serde(default)]
    text: Option<Box<str>>,
    #[serde(default)]
    file: Option<File>,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default, deserialize_with = "members")]
    metadata: Option<Struct>,
}

#[derive(Deserialize)]
#[serde(expecting = "a file")]
struct File {
    /// Some examples of 0.1 call this member `data`.
    #[serde(default, alias = "data")]
    bytes: Option<Box<str>>,
    #[serde(default)]
    uri: Option<Box<str>>,
    #[serde(default)]
    name: Option<Box<str>>,
    #[serde(default, rename = "mimeType", alias = "mime_type")]
    mime_type: Option<Box<str>>,
    /// The name of this member in HTTP+JSON of 0.3.
    #[serde(default, rename = "fileWithBytes", alias = "file_with_bytes")]
    proto_bytes: Option<Box<str>>,
    #[serde(default, rename = "fileWithUri", alias = "file_with_uri")]
    proto_uri: Option<Box<str>>,
    /// The name of this member in 1.0.
    #[serde(default, rename = "mediaType", alias = "media_type")]
    media_type: Option<Box<str>>,
}

/// Reads metadata with the rules of the model.
fn members<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Struct>, D::Error> {
    struct Metadata(Struct);
    impl<'de> Deserialize<'de> for Metadata {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            Field::decode(from).map(Self)
        }
    }
    Ok(Option::<Metadata>::deserialize(from)?.map(|metadata| metadata.0))
}

impl PartMembers<'_> {
    fn part(self) -> Result<Part, String> {
        let kind = self.kind.or(self.old_kind);
        let part = match (kind.as_ref().map(|kind| &*kind.0), self.text, self.file, self.data) {
            (Some("text"), Some(text), ..) | (_, Some(text), None, None) => Part::text(text),
            (Some("file"), _, Some(file), _) | (_, None, Some(file), None) => file.part()?,
            (Some("data"), .., Some(data)) | (_, None, None, Some(data)) => {
                return Ok(data_part(data, self.metadata));
            }
            (Some(kind @ ("text" | "file" | "data")), ..) => return Err(format!("a part of kind {kind} needs {kind}")),
            (_, None, None, None) => return Err("a part needs one of text, file and data".to_owned()),
            _ => return Err("a part without kind needs exactly one of text, file and data".to_owned()),
        };
        Ok(with_metadata(part, self.metadata))
    }
}

impl File {
    fn part(self) -> Result<Part, String> {
        if self.proto_bytes.is_some() || self.proto_uri.is_some() || self.media_type.is_some() {
            Leniency::FileMembers.note();
        }
        let bytes = self.bytes.or(self.proto_bytes);
        let uri = self.uri.or(self.proto_uri);
        let mime_type = self.mime_type.or(self.media_type);
        // An empty member does not hide the other member.
        let part = match (bytes, uri) {
            (Some(bytes), Some(uri)) if !bytes.is_empty() && !uri.is_empty() => {
                return Err("a file has one of bytes and uri; both are set".to_owned());
            }
            (Some(bytes), uri) if uri.as_ref().is_none_or(|uri| uri.is_empty()) => {
                Part::raw(decode_base64(&bytes).map_err(|reason| format!("bytes is {reason}"))?)
            }
            (_, Some(uri)) => Part::url(uri),
            (_, None) => return Err("a file needs one of bytes and uri".to_owned()),
        };
        let part = self.name.into_iter().fold(part, Part::with_filename);
        Ok(mime_type.into_iter().fold(part, Part::with_media_type))
    }
}

/// Unwraps data that was wrapped because it is not an object.
pub(crate) fn data_part(data: Data, metadata: Option<Struct>) -> Part {
    let Some(mut metadata) = metadata else { return Part::data(data) };
    if metadata.get(WRAPPED) == Some(&Value::Bool(true))
        && let Some(value) = data.member("value")
    {
        metadata.remove(WRAPPED);
        return with_metadata(Part::data(value), Some(metadata).filter(|metadata| !metadata.is_empty()));
    }
    Part::data(data).with_metadata(metadata)
}

pub(crate) fn with_metadata(part: Part, metadata: Option<Struct>) -> Part {
    metadata.into_iter().fold(part, Part::with_metadata)
}
