//! Converts JSON values, parsed or as text, to protobuf. A length precedes its content, so two passes are needed: the
//! first pass computes all sizes. The sender decides the depth of a value, so no part of a value may be visited once
//! per level.

use std::fmt;

use nuncio_model::json::Key;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

use super::tag;
use crate::proto::{
    reader::Wire,
    writer::{self, with_length},
};

/// Computes the size of a value, and the sizes of all lists and objects inside, in the order of writing.
pub(super) struct Measure<'a>(pub(super) &'a mut Vec<usize>);

const NULL: usize = 2;
const BOOL: usize = 2;
const NUMBER: usize = 9;

fn size_of_text(text: &str) -> usize {
    1 + with_length(text.len())
}

fn size_of_member(key: &str, value: usize) -> usize {
    1 + with_length(key.len()) + 1 + with_length(value)
}

impl<'de> DeserializeSeed<'de> for Measure<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Measure<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<usize, E> {
        Ok(NULL)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<usize, E> {
        Ok(BOOL)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<usize, E> {
        Ok(NUMBER)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<usize, E> {
        Ok(NUMBER)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<usize, E> {
        Ok(NUMBER)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        Ok(size_of_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<usize, A::Error> {
        let (place, mut size) = (self.0.len(), 0);
        self.0.push(0);
        while let Some(item) = items.next_element_seed(Measure(self.0))? {
            size += 1 + with_length(item);
        }
        self.0[place] = size;
        Ok(1 + with_length(size))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<usize, A::Error> {
        let (place, mut size) = (self.0.len(), 0);
        self.0.push(0);
        while let Some(key) = members.next_key::<Key<'de>>()? {
            let value = members.next_value_seed(Measure(self.0))?;
            size += 1 + with_length(size_of_member(&key.0, value));
        }
        self.0[place] = size;
        Ok(1 + with_length(size))
    }
}

/// The result of [`Measure`].
type Sizes<'a> = std::slice::Iter<'a, usize>;

/// Writes a value after the prefix that its place requires.
pub(super) struct Write<'a, 's> {
    sizes: &'a mut Sizes<'s>,
    to: &'a mut Vec<u8>,
    place: Place<'a>,
}

/// The place of a value.
enum Place<'a> {
    /// Alone: only a length precedes the value.
    Alone,
    /// Alone, for an object that is a `Struct` and not a `Value`.
    Struct,
    /// An item of a list.
    Item,
    /// A member of an object, with this name.
    Member(&'a str),
}

impl<'a, 's> Write<'a, 's> {
    /// Writes a `Value`.
    pub(super) fn value(sizes: &'a mut Sizes<'s>, to: &'a mut Vec<u8>) -> Self {
        Self { sizes, to, place: Place::Alone }
    }

    /// Writes a `Struct`.
    pub(super) fn object(sizes: &'a mut Sizes<'s>, to: &'a mut Vec<u8>) -> Self {
        Self { sizes, to, place: Place::Struct }
    }

    /// Writes the prefix of a value of this size.
    fn head(&mut self, size: usize) {
        match self.place {
            Place::Alone => {}
            Place::Struct => return,
            Place::Item => writer::tag(tag::ITEM, Wire::Length, self.to),
            Place::Member(key) => {
                writer::tag(tag::ITEM, Wire::Length, self.to);
                writer::length(size_of_member(key, size), self.to);
                writer::tag(tag::KEY, Wire::Length, self.to);
                writer::slice(key.as_bytes(), self.to);
                writer::tag(tag::VALUE, Wire::Length, self.to);
            }
        }
        writer::length(size, self.to);
    }

    fn number(mut self, number: f64) {
        self.head(NUMBER);
        writer::tag(tag::NUMBER, Wire::Fixed64, self.to);
        self.to.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes the prefix of the content of a list or an object.
    fn open(&mut self, number: u32) {
        let size = self.sizes.next().copied().unwrap_or_default();
        self.head(1 + with_length(size));
        if !matches!(self.place, Place::Struct) {
            writer::tag(number, Wire::Length, self.to);
        }
        writer::length(size, self.to);
    }
}

impl<'de> DeserializeSeed<'de> for Write<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Write<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.head(NULL);
        writer::tag(tag::NULL, Wire::Varint, self.to);
        self.to.push(0);
        Ok(())
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<(), E> {
        self.head(BOOL);
        writer::tag(tag::BOOL, Wire::Varint, self.to);
        self.to.push(value.into());
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of protobuf values are doubles")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of protobuf values are doubles")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number);
        Ok(())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.head(size_of_text(text));
        writer::tag(tag::STRING, Wire::Length, self.to);
        writer::slice(text.as_bytes(), self.to);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.open(tag::LIST);
        let Self { sizes, to, .. } = self;
        while items.next_element_seed(Write { sizes, to, place: Place::Item })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.open(tag::STRUCT);
        let Self { sizes, to, .. } = self;
        while let Some(key) = members.next_key::<Key<'de>>()? {
            members.next_value_seed(Write { sizes, to, place: Place::Member(&key.0) })?;
        }
        Ok(())
    }
}
