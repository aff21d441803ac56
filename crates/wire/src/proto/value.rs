//! `google.protobuf.Value` and `Struct`: JSON inside of protobuf (section 5.5).
//!
//! Numbers in protobuf are doubles. A double without a fraction becomes an integer, so that a value is the same for
//! every binding. Data is text in the model; both directions work without a tree of values.

mod read;
mod write;

use nuncio_model::{Data, DataWriter, Struct, json::members};
use serde::de::DeserializeSeed as _;

use super::{
    fault::Fault,
    field::Item,
    reader::{Reader, Wire},
};

mod tag {
    pub(super) const NULL: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const STRING: u32 = 3;
    pub(super) const BOOL: u32 = 4;
    pub(super) const STRUCT: u32 = 5;
    pub(super) const LIST: u32 = 6;
    /// The tag of an entry in `Struct`, and of an item in `ListValue`.
    pub(super) const ITEM: u32 = 1;
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
}

/// Data that is an object, encoded as a `Struct`.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object(pub(crate) Data);

impl Item for Data {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let mut sizes = Vec::new();
        // The text of data was validated when the data was created, so this read cannot fail.
        let _ = self.read_with(write::Measure(&mut sizes));
        let _ = self.read_with(write::Write::value(&mut sizes.iter(), to));
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut writer = DataWriter::new();
        read::value(from.nested()?, read::MAX_DEPTH, &mut writer)?;
        *self = writer.finish();
        Ok(())
    }
}

impl Item for Struct {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let mut sizes = Vec::new();
        let _ = write::Measure(&mut sizes).deserialize(self);
        let _ = write::Write::object(&mut sizes.iter(), to).deserialize(self);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let more = members(&read_object(from)?).map_err(|error| Fault::invalid(error.to_string()))?;
        self.extend(more);
        Ok(())
    }
}

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
impl Item for Object {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let mut sizes = Vec::new();
        let _ = self.0.read_with(write::Measure(&mut sizes));
        let _ = self.0.read_with(write::Write::object(&mut sizes.iter(), to));
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let more = read_object(from)?;
        match (self.0.as_str(), more.as_str()) {
            ("{}", _) => self.0 = more,
            (_, "{}") => {}
            (old, new) => {
                let both = format!("{},{}", &old[..old.len() - 1], &new[1..]);
                self.0 = both.parse().map_err(|_| read::too_deep())?;
            }
        }
        Ok(())
    }
}

/// Returns an object without members.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
impl Default for Object {
    fn default() -> Self {
        Self(Struct::new().into())
    }
}

fn read_object(from: &mut Reader<'_>) -> Result<Data, Fault> {
    let mut writer = DataWriter::new();
    writer.begin_object();
    read::members(&mut from.nested()?, read::MAX_DEPTH - 1, &mut writer)?;
    writer.end_object();
    Ok(writer.finish())
}
