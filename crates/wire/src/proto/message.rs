//! A message as a table of its fields. The table generates the reader and the writer.

use nuncio_model::json::with_few_values;

use super::{
    fault::Fault,
    reader::{Reader, Side, Tag},
};

/// A message of fields.
pub(crate) trait Message: Default {
    /// Appends the fields.
    fn write_fields(&self, to: &mut Vec<u8>);

    /// Reads the value of a field, or skips the field.
    fn read_field(&mut self, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault>;

    /// Reads all remaining fields.
    fn read_fields(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut wrong: Option<Fault> = None;
        while let Some(tag) = from.tag()? {
            match self.read_field(tag, from) {
                Ok(()) => {}
                Err(fault) if from.side == Side::Survey && fault.is_invalid() => {
                    wrong = Some(match wrong {
                        Some(known) => known.and(fault),
                        None => fault,
                    });
                }
                Err(fault) => return Err(fault),
            }
        }
        wrong.map_or(Ok(()), Err)
    }
}

/// Makes a [`Message`] an [`Item`](super::field::Item) of other messages.
macro_rules! item {
    ($type:ty) => {
        impl $crate::proto::field::Item for $type {
            const WIRE: $crate::proto::reader::Wire = $crate::proto::reader::Wire::Length;

            fn write(&self, to: &mut Vec<u8>) {
                $crate::proto::writer::nested(to, |to| $crate::proto::message::Message::write_fields(self, to));
            }

            fn read(
                &mut self,
                from: &mut $crate::proto::reader::Reader<'_>,
            ) -> Result<(), $crate::proto::fault::Fault> {
                $crate::proto::message::Message::read_fields(self, &mut from.nested()?)
            }
        }
    };
}

/// Reads a complete message.
pub(crate) fn decode<M: Message>(bytes: &[u8], side: Side) -> Result<M, Fault> {
    let read = || {
        let mut message = M::default();
        message.read_fields(&mut Reader::new(bytes, side))?;
        Ok(message)
    };
    match side {
        Side::Request | Side::Survey => with_few_values(read),
        Side::Reply => read(),
    }
}

/// Reads a whole message of a request that was refused once more. Returns what could be read, and all that is wrong.
pub(crate) fn survey<M: Message>(bytes: &[u8]) -> (M, Option<Fault>) {
    let mut message = M::default();
    let fault = with_few_values(|| message.read_fields(&mut Reader::new(bytes, Side::Survey)).err());
    (message, fault)
}

/// Implements [`Message`] for structs. Each row has the number, the name and the word of a field (see
/// [`super::field`]).
///
/// A missing field is a compile error. A test against the `.proto` file finds wrong numbers.
macro_rules! message {
    ($($type:ty { $($number:literal $field:ident: $standing:ident,)* })*) => {$(
        impl $crate::proto::message::Message for $type {
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn write_fields(&self, to: &mut Vec<u8>) {
                let Self { $($field,)* } = self;
                $($crate::proto::field::$standing::write($field, $number, to);)*
            }

            fn read_field(
                &mut self,
                tag: $crate::proto::reader::Tag,
                from: &mut $crate::proto::reader::Reader<'_>,
            ) -> Result<(), $crate::proto::fault::Fault> {
                match tag.number {
                    $($number => $crate::proto::field::$standing::read(&mut self.$field, tag, from)
                        .map_err(|fault| fault.inside(stringify!($field))),)*
                    _ => from.skip(tag),
                }
            }
        }

        $crate::proto::message::item!($type);
    )*};
}

/// Implements [`Message`] for enums of messages, whose only content is a `oneof`. `Unknown` if no member is set.
macro_rules! oneof {
    ($($type:ident { $($number:literal $field:ident: $variant:ident,)* })*) => {$(
        impl $crate::proto::message::Message for $type {
            fn write_fields(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(value) => $crate::proto::field::always::write(value, $number, to),)*
                    _ => {}
                }
            }

            fn read_field(
                &mut self,
                tag: $crate::proto::reader::Tag,
                from: &mut $crate::proto::reader::Reader<'_>,
            ) -> Result<(), $crate::proto::fault::Fault> {
                match tag.number {
                    $($number => {
                        *self = Self::$variant($crate::proto::field::always::take(stringify!($field), tag, from)?);
                        Ok(())
                    })*
                    _ => from.skip(tag),
                }
            }
        }

        $crate::proto::message::item!($type);
    )*};
}

pub(crate) use {item, message, oneof};
