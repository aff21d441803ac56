//! A part (section 4.1.6): content of exactly one kind, and three more fields.

use nuncio_model::{Part, PartContent, PartContentRef, PartRef, Parts, Struct};

use super::{
    fault::Fault,
    field::{Item, always, implicit, presence, repeated::List},
    reader::{Reader, Wire},
    writer,
};

mod number {
    pub(super) const TEXT: u32 = 1;
    pub(super) const RAW: u32 = 2;
    pub(super) const URL: u32 = 3;
    pub(super) const DATA: u32 = 4;
    pub(super) const METADATA: u32 = 5;
    pub(super) const FILENAME: u32 = 6;
    pub(super) const MEDIA_TYPE: u32 = 7;
}

impl Item for Part {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        writer::nested(to, |to| write_fields(self.into(), to));
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        *self = read_fields(from.nested()?)?;
        Ok(())
    }
}

impl List for Parts {
    type Item = Part;

    fn write(&self, number: u32, to: &mut Vec<u8>) {
        for part in self {
            writer::tag(number, Part::WIRE, to);
            writer::nested(to, |to| write_fields(part, to));
        }
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn reserve(&mut self, _: impl FnOnce() -> usize) {}

    fn push(&mut self, part: Part) {
        self.push(part);
    }
}

fn write_fields(part: PartRef<'_>, to: &mut Vec<u8>) {
    match part.content {
        PartContentRef::Text(text) => write_text(text, number::TEXT, to),
        PartContentRef::Raw(bytes) => write_bytes(bytes, number::RAW, to),
        PartContentRef::Url(url) => write_text(url, number::URL, to),
        PartContentRef::Data(data) => always::write(data, number::DATA, to),
    }
    if let Some(metadata) = part.metadata() {
        always::write(metadata, number::METADATA, to);
    }
    if let Some(filename) = part.filename() {
        write_text(filename, number::FILENAME, to);
    }
    if let Some(media_type) = part.media_type() {
        write_text(media_type, number::MEDIA_TYPE, to);
    }
}

fn write_text(text: &str, number: u32, to: &mut Vec<u8>) {
    write_bytes(text.as_bytes(), number, to);
}

fn write_bytes(bytes: &[u8], number: u32, to: &mut Vec<u8>) {
    writer::tag(number, Wire::Length, to);
    writer::slice(bytes, to);
}

fn read_fields(mut from: Reader<'_>) -> Result<Part, Fault> {
    let mut content = None;
    let mut metadata: Option<Struct> = None;
    let mut filename: Option<Box<str>> = None;
    let mut media_type: Option<Box<str>> = None;
    while let Some(tag) = from.tag()? {
        let from = &mut from;
        match tag.number {
            number::TEXT => content = Some(PartContent::Text(always::take("text", tag, from)?)),
            number::RAW => content = Some(PartContent::Raw(always::take("raw", tag, from)?)),
            number::URL => content = Some(PartContent::Url(always::take("url", tag, from)?)),
            number::DATA => content = Some(PartContent::Data(always::take("data", tag, from)?)),
            number::METADATA => {
                presence::read(&mut metadata, tag, from).map_err(|fault| fault.inside("metadata"))?;
            }
            number::FILENAME => {
                implicit::read(&mut filename, tag, from).map_err(|fault| fault.inside("filename"))?;
            }
            number::MEDIA_TYPE => {
                implicit::read(&mut media_type, tag, from).map_err(|fault| fault.inside("media_type"))?;
            }
            _ => from.skip(tag)?,
        }
    }
    let content = content.ok_or_else(|| Fault::invalid("a part needs one of text, raw, url and data"))?;
    let mut part = Part::new(content);
    if let Some(metadata) = metadata {
        part = part.with_metadata(metadata);
    }
    if let Some(filename) = filename {
        part = part.with_filename(filename);
    }
    if let Some(media_type) = media_type {
        part = part.with_media_type(media_type);
    }
    Ok(part)
}
