//! Parts: told apart by `type` (K-4, K-17, K-18).

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use nuncio_model::{Part, PartContent, Struct, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};

/// The member of a part's metadata that says that its data was no object, and was wrapped into one.
const IS_WRAPPED: &str = "data_part_compat";
/// The member of the object that it was wrapped into.
const WRAPPED: &str = "value";

/// Writes a part.
pub(super) struct PartOut<'a>(pub(super) &'a Part);

impl Serialize for PartOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = to.serialize_map(None)?;
        let mut is_wrapped = false;
        match &part.content {
            PartContent::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            PartContent::Raw(bytes) => {
                map.serialize_entry("type", "file")?;
                map.serialize_entry("file", &FileOut::new(part, Some(STANDARD.encode(bytes)), None))?;
            }
            PartContent::Url(url) => {
                map.serialize_entry("type", "file")?;
                map.serialize_entry("file", &FileOut::new(part, None, Some(url)))?;
            }
            PartContent::Data(data) => {
                map.serialize_entry("type", "data")?;
                is_wrapped = !data.is_object();
                if is_wrapped {
                    map.serialize_entry("data", &std::collections::BTreeMap::from([(WRAPPED, data)]))?;
                } else {
                    map.serialize_entry("data", data)?;
                }
            }
        }
        match (part.metadata(), is_wrapped) {
            (metadata, true) => {
                let mut metadata = metadata.cloned().unwrap_or_default();
                metadata.insert(IS_WRAPPED.to_owned(), true.into());
                map.serialize_entry("metadata", &metadata)?;
            }
            (Some(metadata), false) => map.serialize_entry("metadata", metadata)?,
            (None, false) => {}
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

impl<'a> FileOut<'a> {
    fn new(part: &'a Part, bytes: Option<String>, uri: Option<&'a str>) -> Self {
        Self { name: part.filename(), mime_type: part.media_type(), bytes, uri }
    }
}

/// Reads a part: `kind` is as good as `type`, and where there is neither, what is there says what it is.
pub(super) struct PartIn(pub(super) Part);

impl<'de> Deserialize<'de> for PartIn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            r#type: Option<Box<str>>,
            kind: Option<Box<str>>,
            text: Option<Box<str>>,
            file: Option<File>,
            #[serde(default)]
            data: Value,
            metadata: Option<Struct>,
        }
        let Members { r#type, kind, text, file, data, metadata } = Members::deserialize(from)?;
        let part = match (r#type.or(kind).as_deref(), text, file) {
            (Some("text") | None, Some(text), _) => Part::text(text),
            (Some("file") | None, _, Some(file)) => file.into_part().map_err(D::Error::custom)?,
            (Some("data"), ..) => return Ok(Self(data_part(data, metadata))),
            (None, None, None) if !data.is_null() => return Ok(Self(data_part(data, metadata))),
            (Some("text"), ..) => return Err(D::Error::custom("a text part needs text")),
            (Some("file"), ..) => return Err(D::Error::custom("a file part needs file")),
            (Some(other), ..) => {
                return Err(D::Error::custom(format_args!("type is text, file or data, and not `{other}`")));
            }
            (None, ..) => return Err(D::Error::custom("a part needs one of text, file and data")),
        };
        Ok(Self(with_metadata(part, metadata)))
    }
}

fn with_metadata(part: Part, metadata: Option<Struct>) -> Part {
    match metadata {
        Some(metadata) => part.with_metadata(metadata),
        None => part,
    }
}

/// Takes data out of the object that it was wrapped into.
fn data_part(mut data: Value, mut metadata: Option<Struct>) -> Part {
    let wrapped =
        data.as_object_mut().filter(|members| members.len() == 1).and_then(|members| members.get_mut(WRAPPED));
    if let (Some(wrapped), Some(members)) = (wrapped, &mut metadata)
        && members.get(IS_WRAPPED) == Some(&Value::Bool(true))
    {
        data = wrapped.take();
        members.remove(IS_WRAPPED);
        if members.is_empty() {
            metadata = None;
        }
    }
    with_metadata(Part::data(data), metadata)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: Option<Box<str>>,
    mime_type: Option<Box<str>>,
    bytes: Option<Box<str>>,
    /// What some write for `bytes` (K-17).
    data: Option<Box<str>>,
    uri: Option<Box<str>>,
}

impl File {
    fn into_part(self) -> Result<Part, String> {
        let mut part = match (self.bytes.or(self.data), self.uri) {
            (Some(bytes), _) => Part::raw(decode_base64(&bytes)?),
            (None, Some(uri)) => Part::url(uri),
            (None, None) => return Err("file needs bytes or uri; a file without content cannot be taken".to_owned()),
        };
        if let Some(name) = self.name {
            part = part.with_filename(name);
        }
        if let Some(media_type) = self.mime_type {
            part = part.with_media_type(media_type);
        }
        Ok(part)
    }
}

/// Reads base64 in the standard or the URL-safe alphabet, with or without padding, in one line or several.
fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let standard: String = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace() && *c != '=')
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    STANDARD_NO_PAD.decode(standard).map_err(|error| format!("bytes is not base64: {error}"))
}
