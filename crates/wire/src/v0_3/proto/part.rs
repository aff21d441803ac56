//! A part: text, a file or data.

use nuncio_model::{Data, Leniency, Part as ModelPart, PartContent, Struct, json::Field};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    json::{self, Bytes},
    message,
};
use crate::{
    part::{WRAPPED, Wrap, data_part, with_metadata},
    proto::{
        fault::Fault,
        field::Item,
        reader::{Reader, Wire},
        value::Object,
    },
};

/// A part of the model in the form of 0.3.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::v0_3) struct Part(pub(super) ModelPart);

message! {
    /// One of the first three members is set.
    Fields {
        1 text: Option<Box<str>> = presence "text",
        2 file: Option<FilePart> = presence "file",
        3 data: Option<DataPart> = presence "data",
        4 metadata: Option<Struct> = presence "metadata",
    }

    /// One of the first two members is set.
    FilePart {
        1 file_with_uri: Option<Box<str>> = presence "fileWithUri" | "file_with_uri",
        2 file_with_bytes: Option<Bytes> = presence "fileWithBytes" | "file_with_bytes",
        3 mime_type: Box<str> = implicit "mimeType" | "mime_type",
        4 name: Box<str> = implicit "name",
    }

    DataPart {
        1 data: Object = always "data",
    }
}

json::object! {
    /// A part in the forms that peers send. Only the presence of the kind matters.
    Members {
        kind: Option<String> = "kind" | "type",
        text: Option<Box<str>> = "text",
        file: Option<FileMembers> = "file",
        data: Option<AnyData> = "data",
        metadata: Option<Struct> = "metadata",
    }
}

json::object! {
    /// A file in the forms that peers send: with the members of this proto, of JSON-RPC, and of 1.0.
    FileMembers {
        file_with_uri: Option<Box<str>> = "fileWithUri" | "file_with_uri",
        file_with_bytes: Option<Bytes> = "fileWithBytes" | "file_with_bytes",
        mime_type: Option<Box<str>> = "mimeType" | "mime_type",
        name: Option<Box<str>> = "name",
        uri: Option<Box<str>> = "uri",
        bytes: Option<Bytes> = "bytes",
        media_type: Option<Box<str>> = "mediaType" | "media_type",
    }
}

impl From<FileMembers> for FilePart {
    fn from(file: FileMembers) -> Self {
        if file.uri.is_some() || file.bytes.is_some() || file.media_type.is_some() {
            Leniency::FileMembers.note();
        }
        Self {
            file_with_uri: file.file_with_uri.or(file.uri),
            file_with_bytes: file.file_with_bytes.or(file.bytes),
            mime_type: file.mime_type.or(file.media_type).unwrap_or_default(),
            name: file.name.unwrap_or_default(),
        }
    }
}

/// Any data value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::v0_3) struct AnyData(Data);

json::by_serde!(AnyData);

impl Item for Part {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        Fields::from(&self.0).write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut fields = Fields::default();
        fields.read(from)?;
        self.0 = fields.into_part().map_err(Fault::invalid)?;
        Ok(())
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Fields::from(&self.0).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Part {
    /// Reads `{"data":{"data":{…}}}`, and also `{"kind":"data","data":{…}}`, the form of JSON-RPC.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Members { kind, text, file, data, metadata } = Members::deserialize(from)?;
        let data = data.map(|data| read_data(data.0, kind.is_some())).transpose()?;
        let fields = Fields { text, file: file.map(FilePart::from), data, metadata };
        fields.into_part().map(Self).map_err(de::Error::custom)
    }
}

json::by_serde!(Part);

/// An object with a wrapper that has no other members.
const WRAPPER: &str = r#"{"data":}"#;

/// The data of a part, with or without a wrapper. There is no wrapper if the part has a kind.
fn read_data<E: de::Error>(data: Data, is_bare: bool) -> Result<DataPart, E> {
    if !data.is_object() {
        return Err(de::Error::custom("data must be an object"));
    }
    let is_alone = |inner: &Data| inner.is_object() && inner.as_str().len() + WRAPPER.len() == data.as_str().len();
    let inner = data.member("data").filter(|inner| !is_bare && is_alone(inner));
    Ok(DataPart { data: Object(inner.unwrap_or(data)) })
}

impl Field for Object {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let data = Data::deserialize(from)?;
        if data.is_object() { Ok(Object(data)) } else { Err(de::Error::custom("data must be an object")) }
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
    fn is_unset(&self) -> bool {
        false
    }
}

impl From<&ModelPart> for Fields {
    fn from(part: &ModelPart) -> Self {
        let mut metadata = part.metadata().cloned();
        let file = |file_with_uri, file_with_bytes| {
            Some(FilePart {
                file_with_uri,
                file_with_bytes,
                mime_type: part.media_type().unwrap_or_default().into(),
                name: part.filename().unwrap_or_default().into(),
            })
        };
        let mut fields = Self::default();
        match &part.content {
            PartContent::Text(text) => fields.text = Some(text.clone()),
            PartContent::Raw(bytes) => fields.file = file(None, Some(Bytes(bytes.clone()))),
            PartContent::Url(url) => fields.file = file(Some(url.clone()), None),
            PartContent::Data(data) => {
                fields.data = Some(DataPart { data: data_object(data, &mut metadata) });
            }
        }
        Self { metadata, ..fields }
    }
}

impl Fields {
    /// The part, or the reason why the fields are not a part.
    fn into_part(self) -> Result<ModelPart, &'static str> {
        let Self { text, file, data, metadata } = self;
        match (text, file, data) {
            (Some(text), None, None) => Ok(with_metadata(ModelPart::text(text), metadata)),
            (None, Some(file), None) => Ok(with_metadata(file.into_part()?, metadata)),
            (None, None, Some(DataPart { data })) => Ok(data_part(data.0, metadata)),
            (None, None, None) => Err("a part needs one of text, file and data"),
            _ => Err("a part carries exactly one of text, file and data; more than one is set"),
        }
    }
}

/// Data as an object, as the proto requires. Other data is wrapped, and the metadata of the part marks the wrapping.
fn data_object(data: &Data, metadata: &mut Option<Struct>) -> Object {
    if data.is_object() {
        return Object(data.clone());
    }
    metadata.get_or_insert_default().insert(WRAPPED.to_owned(), true.into());
    Object(Data::of(&Wrap { value: data }).unwrap_or_default())
}

impl FilePart {
    fn into_part(self) -> Result<ModelPart, &'static str> {
        let part = match (self.file_with_uri, self.file_with_bytes) {
            (Some(uri), None) => ModelPart::url(uri),
            (None, Some(Bytes(bytes))) => ModelPart::raw(bytes),
            (None, None) => return Err("a file needs one of fileWithUri and fileWithBytes"),
            _ => return Err("a file has one of fileWithUri and fileWithBytes, not both"),
        };
        Ok(part.with_media_type(self.mime_type).with_filename(self.name))
    }
}
