//! Structured data as JSON text.
//!
//! A parsed JSON value with many small values takes up to 150 times the memory of its text. Most data is only passed
//! on, so the data remains text until an agent or a client requests the value.

mod read;
mod write;

use std::{fmt, marker::PhantomData, str::FromStr, sync::Arc};

use serde::{
    Deserialize, Serialize, Serializer,
    de::{DeserializeOwned, DeserializeSeed},
};
use serde_json::{Error, value::RawValue};

use crate::json::{self, Value};

pub use write::{DataWriter, Mark};

/// Structured data: any JSON value, as checked text. A clone shares the text.
///
/// The text has one compact form: no whitespace between values, no line breaks, one spelling of texts and numbers. If
/// an object repeats the name of a member, the last member remains. Members keep their order.
///
/// ```
/// use nuncio_model::Data;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Row { place: String, days: u32 }
///
/// let data: Data = r#" {"place": "Bern", "days": 2} "#.parse().unwrap();
/// assert_eq!(data.as_str(), r#"{"place":"Bern","days":2}"#);
/// let row: Row = data.parse().unwrap();
/// assert_eq!((&*row.place, row.days), ("Bern", 2));
/// assert_eq!(data.to_value()["days"], 2);
/// ```
#[derive(Clone)]
pub struct Data(Arc<Checked>);

struct Checked {
    text: Box<RawValue>,
    values: usize,
    levels: usize,
}

impl Data {
    /// Writes a value as data.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON: because the value has a map with keys other than texts, numbers and
    /// booleans, or because its serialization fails.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let json = json::to_string(value)?;
        let mut from = serde_json::Deserializer::from_str(&json);
        from.disable_recursion_limit();
        Self::deserialize(&mut from)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.text.get()
    }

    /// Reads the data as this type.
    ///
    /// # Errors
    ///
    /// If the data does not match the type, or if the data has more than 128 levels.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(self.as_str())
    }

    /// The parsed value. The value takes up to 150 times the memory of the text.
    pub fn to_value(&self) -> Value {
        // This cannot fail: the text is known to be JSON. The depth is also safe, because either a parsed value of the
        // same depth existed before, or the text was within the limit of the parser.
        self.read().unwrap_or_default()
    }

    /// Whether the data is `null`.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Whether the data is an object.
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// The member with this name, if the data is an object with such a member.
    pub fn member(&self, name: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        self.read_with(read::FindMember(name)).ok().flatten()
    }

    /// The number of JSON values in the data: the data itself, and all values inside.
    pub fn values(&self) -> usize {
        self.0.values
    }

    /// The depth of nested lists and objects: 0 for any other value.
    pub fn levels(&self) -> usize {
        self.0.levels
    }

    /// Reads the data with a seed. The depth is not limited.
    ///
    /// # Errors
    ///
    /// The errors of the seed.
    pub fn read_with<'a, S: DeserializeSeed<'a>>(&'a self, seed: S) -> Result<S::Value, Error> {
        let mut from = serde_json::Deserializer::from_str(self.as_str());
        from.disable_recursion_limit();
        seed.deserialize(&mut from)
    }

    /// Reads the text again. The depth is not limited.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.read_with(PhantomData)
    }
}

impl<T: Into<Value>> From<T> for Data {
    fn from(value: T) -> Self {
        // This cannot fail: a parsed value contains only JSON.
        Self::deserialize(&value.into()).unwrap_or_default()
    }
}

/// Reads JSON text.
impl FromStr for Data {
    type Err = Error;

    fn from_str(json: &str) -> Result<Self, Error> {
        serde_json::from_str(json)
    }
}

impl Default for Data {
    fn default() -> Self {
        let mut writer = DataWriter::new();
        writer.null();
        writer.finish()
    }
}

/// Two objects are equal even if their members have different orders.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        // Objects with the same members in another order have the same length.
        self.as_str() == other.as_str()
            || (self.0.values, self.as_str().len()) == (other.0.values, other.as_str().len())
                && self.to_value() == other.to_value()
    }
}

impl PartialEq<Value> for Data {
    fn eq(&self, other: &Value) -> bool {
        self.to_value() == *other
    }
}

/// The text.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(to)
    }
}

#[cfg(test)]
mod tests;
