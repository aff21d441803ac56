//! Writes lists and objects: the separators between and around their values.

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::Error;

use super::Writer;

/// serde_json's name for a value that is already JSON, and for the only field of that value.
pub(super) const RAW: &str = "$serde_json::private::RawValue";

/// A list or an object during writing.
pub(crate) struct Compound<'a> {
    to: &'a mut Vec<u8>,
    is_first: bool,
    is_raw: bool,
    close: &'static str,
}

impl<'a> Compound<'a> {
    pub(super) fn list(to: &'a mut Vec<u8>, close: &'static str) -> Self {
        to.push(b'[');
        Self { to, is_first: true, is_raw: false, close }
    }

    pub(super) fn object(to: &'a mut Vec<u8>, close: &'static str) -> Self {
        to.push(b'{');
        Self { to, is_first: true, is_raw: false, close }
    }

    pub(super) fn raw(to: &'a mut Vec<u8>) -> Self {
        Self { to, is_first: true, is_raw: true, close: "" }
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_first) {
            self.to.push(b',');
        }
        value.serialize(Writer { to: self.to })
    }

    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let start = self.to.len() + usize::from(!self.is_first);
        self.item(key)?;
        match self.to.get(start) {
            Some(b'"') => Ok(()),
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.to.insert(start, b'"');
                self.to.push(b'"');
                Ok(())
            }
            _ => Err(Error::custom("key must be a string")),
        }
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.to.push(b':');
        value.serialize(Writer { to: self.to })
    }

    fn field(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if self.is_raw {
            let mut serializer = serde_json::Serializer::new(&mut *self.to);
            let mut raw = serializer.serialize_struct(RAW, 1)?;
            SerializeStruct::serialize_field(&mut raw, RAW, value)?;
            return SerializeStruct::end(raw);
        }
        self.item(name)?;
        self.value(value)
    }

    fn close(self) {
        self.to.extend_from_slice(self.close.as_bytes());
    }
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

macro_rules! list {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )*};
}

list! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

macro_rules! object {
    ($($trait:ident)*) => {$(
        impl $trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )*};
}

object! {
    SerializeStruct
    SerializeStructVariant
}
