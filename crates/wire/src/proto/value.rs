//! `google.protobuf.Value` and `Struct`: JSON inside of protobuf (section 5.5).
//!
//! Their numbers are doubles. Those without a fraction come back as integers, so that a value looks the same whichever
//! binding it came by.

use nuncio_model::{Struct, Value};
use serde_json::Number;

use super::{
    fault::Fault,
    field::Item,
    reader::{Reader, Tag, Wire},
    writer::{self, with_length},
};

/// How deep lists and objects may nest: as deep as in JSON.
const MAX_DEPTH: usize = 128;

mod tag {
    pub(super) const NULL: u32 = 1;
    pub(super) const NUMBER: u32 = 2;
    pub(super) const STRING: u32 = 3;
    pub(super) const BOOL: u32 = 4;
    pub(super) const STRUCT: u32 = 5;
    pub(super) const LIST: u32 = 6;
    /// Of an entry in `Struct`, or an item in `ListValue`.
    pub(super) const ITEM: u32 = 1;
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
}

impl Item for Value {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let mut sizes = Vec::new();
        let size = measure(self, &mut sizes);
        writer::length(size, to);
        write_value(self, &mut sizes.iter(), to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        *self = read_value(from.nested()?, MAX_DEPTH)?;
        Ok(())
    }
}

impl Item for Struct {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let mut sizes = Vec::new();
        let size = measure_struct(self, &mut sizes);
        writer::length(size, to);
        write_struct(self, &mut sizes.iter(), to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        read_struct(&mut from.nested()?, self, MAX_DEPTH - 1)
    }
}

/// The size of a value, and into `sizes` those of all lists and objects in it in the order in which they are written:
/// values nest as deep as their sender likes, so nothing may be gone over once for each level.
fn measure(value: &Value, sizes: &mut Vec<usize>) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(_) => 9,
        Value::String(text) => 1 + with_length(text.len()),
        Value::Array(items) => 1 + with_length(place(sizes, |sizes| measure_list(items, sizes))),
        Value::Object(members) => 1 + with_length(place(sizes, |sizes| measure_struct(members, sizes))),
    }
}

/// Keeps a place for a size in front of those that it takes to know it.
fn place(sizes: &mut Vec<usize>, measure: impl FnOnce(&mut Vec<usize>) -> usize) -> usize {
    let at = sizes.len();
    sizes.push(0);
    sizes[at] = measure(sizes);
    sizes[at]
}

fn measure_list(items: &[Value], sizes: &mut Vec<usize>) -> usize {
    items.iter().map(|item| 1 + with_length(measure(item, sizes))).sum()
}

fn measure_struct(members: &Struct, sizes: &mut Vec<usize>) -> usize {
    members.iter().map(|(key, value)| 1 + with_length(entry_size(key, measure(value, sizes)))).sum()
}

fn entry_size(key: &str, value: usize) -> usize {
    1 + with_length(key.len()) + 1 + with_length(value)
}

/// The sizes that [`measure`] found.
type Sizes<'a> = std::slice::Iter<'a, usize>;

/// The size of a value whose lists and objects come next in `sizes`.
fn size_of(value: &Value, sizes: &Sizes<'_>) -> usize {
    match value {
        Value::Array(_) | Value::Object(_) => 1 + with_length(sizes.as_slice().first().copied().unwrap_or_default()),
        leaf => measure(leaf, &mut Vec::new()),
    }
}

fn write_value(value: &Value, sizes: &mut Sizes<'_>, to: &mut Vec<u8>) {
    match value {
        Value::Null => {
            writer::tag(tag::NULL, Wire::Varint, to);
            to.push(0);
        }
        Value::Bool(value) => {
            writer::tag(tag::BOOL, Wire::Varint, to);
            to.push((*value).into());
        }
        Value::Number(number) => {
            writer::tag(tag::NUMBER, Wire::Fixed64, to);
            to.extend_from_slice(&number.as_f64().unwrap_or_default().to_le_bytes());
        }
        Value::String(text) => {
            writer::tag(tag::STRING, Wire::Length, to);
            writer::slice(text.as_bytes(), to);
        }
        Value::Array(items) => {
            writer::tag(tag::LIST, Wire::Length, to);
            writer::length(next(sizes), to);
            for item in items {
                writer::tag(tag::ITEM, Wire::Length, to);
                writer::length(size_of(item, sizes), to);
                write_value(item, sizes, to);
            }
        }
        Value::Object(members) => {
            writer::tag(tag::STRUCT, Wire::Length, to);
            writer::length(next(sizes), to);
            write_struct(members, sizes, to);
        }
    }
}

fn write_struct(members: &Struct, sizes: &mut Sizes<'_>, to: &mut Vec<u8>) {
    for (key, value) in members {
        let size = size_of(value, sizes);
        writer::tag(tag::ITEM, Wire::Length, to);
        writer::length(entry_size(key, size), to);
        writer::tag(tag::KEY, Wire::Length, to);
        writer::slice(key.as_bytes(), to);
        writer::tag(tag::VALUE, Wire::Length, to);
        writer::length(size, to);
        write_value(value, sizes, to);
    }
}

fn next(sizes: &mut Sizes<'_>) -> usize {
    sizes.next().copied().unwrap_or_default()
}

/// A value without a kind is `null`, as most readers have it.
fn read_value(mut from: Reader<'_>, depth: usize) -> Result<Value, Fault> {
    let mut value = Value::Null;
    while let Some(tag) = from.tag()? {
        value = match tag.number {
            tag::NULL => {
                tag.expect(Wire::Varint)?;
                from.varint()?;
                Value::Null
            }
            tag::NUMBER => {
                tag.expect(Wire::Fixed64)?;
                Value::Number(number(f64::from_le_bytes(from.fixed64()?))?)
            }
            tag::STRING => {
                tag.expect(Wire::Length)?;
                Value::String(from.str()?.to_owned())
            }
            tag::BOOL => {
                tag.expect(Wire::Varint)?;
                Value::Bool(from.varint()? != 0)
            }
            tag::STRUCT => {
                tag.expect(Wire::Length)?;
                let mut members = Struct::new();
                read_struct(&mut from.nested()?, &mut members, deeper(depth)?)?;
                Value::Object(members)
            }
            tag::LIST => {
                tag.expect(Wire::Length)?;
                Value::Array(read_list(&mut from.nested()?, deeper(depth)?)?)
            }
            _ => {
                from.skip(tag)?;
                value
            }
        };
    }
    Ok(value)
}

fn read_list(from: &mut Reader<'_>, depth: usize) -> Result<Vec<Value>, Fault> {
    let mut items = Vec::new();
    while let Some(tag) = from.tag()? {
        if tag.number == tag::ITEM {
            items.push(read_nested(tag, from, depth)?);
        } else {
            from.skip(tag)?;
        }
    }
    Ok(items)
}

fn read_struct(from: &mut Reader<'_>, members: &mut Struct, depth: usize) -> Result<(), Fault> {
    while let Some(tag) = from.tag()? {
        if tag.number == tag::ITEM {
            tag.expect(Wire::Length)?;
            let (key, value) = read_entry(&mut from.nested()?, depth)?;
            members.insert(key, value);
        } else {
            from.skip(tag)?;
        }
    }
    Ok(())
}

fn read_entry(from: &mut Reader<'_>, depth: usize) -> Result<(String, Value), Fault> {
    let (mut key, mut value) = (String::new(), Value::Null);
    while let Some(tag) = from.tag()? {
        match tag.number {
            tag::KEY => {
                tag.expect(Wire::Length)?;
                from.str()?.clone_into(&mut key);
            }
            tag::VALUE => value = read_nested(tag, from, depth)?,
            _ => from.skip(tag)?,
        }
    }
    Ok((key, value))
}

fn read_nested(tag: Tag, from: &mut Reader<'_>, depth: usize) -> Result<Value, Fault> {
    tag.expect(Wire::Length)?;
    read_value(from.nested()?, depth)
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    depth.checked_sub(1).ok_or_else(|| Fault::wrong("lists and objects nest too deep"))
}

/// A number as JSON writes it. JSON has none for infinity and what is no number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only where nothing is cut")]
fn number(double: f64) -> Result<Number, Fault> {
    if double.fract() == 0.0 && !(double == 0.0 && double.is_sign_negative()) {
        if (-TWO_TO_63..TWO_TO_63).contains(&double) {
            return Ok(Number::from(double as i64));
        }
        if (0.0..2.0 * TWO_TO_63).contains(&double) {
            return Ok(Number::from(double as u64));
        }
    }
    Number::from_f64(double).ok_or_else(|| Fault::wrong("a number must be finite"))
}

/// The first double that no `i64` reaches.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
