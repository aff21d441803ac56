//! The scalars of the messages: strings, ids, bytes, numbers, enums.

use nuncio_model::{ArtifactId, ContextId, MessageId, PushConfigId, Role, TaskId, TaskState, Tenant};

use super::{
    fault::Fault,
    field::{Item, Scalar},
    reader::{Reader, Side, Wire},
    writer,
};

macro_rules! strings {
    ($($type:ty),*) => {$(
        impl Item for $type {
            const WIRE: Wire = Wire::Length;

            #[inline]
            fn write(&self, to: &mut Vec<u8>) {
                let text: &str = self.as_ref();
                writer::slice(text.as_bytes(), to);
            }

            #[inline]
            fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
                *self = from.str()?.into();
                Ok(())
            }
        }

        impl Scalar for $type {
            #[inline]
            fn is_default(&self) -> bool {
                self.is_empty()
            }
        }
    )*};
}

strings!(String, Box<str>, TaskId, ContextId, MessageId, ArtifactId, PushConfigId, Tenant);

impl Item for Box<[u8]> {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        writer::slice(self, to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        *self = from.slice()?.into();
        Ok(())
    }
}

impl Scalar for Box<[u8]> {
    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! numbers {
    ($($type:ty: |$value:ident| $out:expr, |$varint:ident| $in:expr;)*) => {$(
        impl Item for $type {
            const WIRE: Wire = Wire::Varint;

            #[inline]
            fn write(&self, to: &mut Vec<u8>) {
                let $value = *self;
                writer::varint($out, to);
            }

            #[inline]
            fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
                let $varint = from.varint()?;
                *self = $in;
                Ok(())
            }
        }

        impl Scalar for $type {
            #[inline]
            fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

numbers! {
    bool: |value| value.into(), |varint| varint != 0;
    i32: |value| i64::from(value).cast_unsigned(), |varint| truncate(varint);
    i64: |value| value.cast_unsigned(), |varint| varint.cast_signed();
}

/// Protobuf truncates a number that is too wide for its field to the lower half.
#[expect(clippy::cast_possible_truncation, reason = "the encoding requires truncation")]
fn truncate(varint: u64) -> i32 {
    varint as i32
}

macro_rules! enums {
    ($($type:ident),*) => {$(
        impl Item for $type {
            const WIRE: Wire = Wire::Varint;

            #[inline]
            fn write(&self, to: &mut Vec<u8>) {
                self.number().write(to);
            }

            #[inline]
            fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
                let number = truncate(from.varint()?);
                *self = match (Self::from_number(number), from.side) {
                    (Some(value), _) => value,
                    (None, Side::Reply) => {
                        Self::UNKNOWN.note();
                        Self::default()
                    }
                    (None, Side::Request | Side::Survey) => {
                        return Err(Fault::invalid(format!("unknown {} {number}", stringify!($type))));
                    }
                };
                Ok(())
            }
        }

        impl Scalar for $type {
            #[inline]
            fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

enums!(Role, TaskState);
