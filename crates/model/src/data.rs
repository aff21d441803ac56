//! Structured data as JSON text.
//!
//! A parsed JSON value of many small values takes up to 150 times its text. Most data is only passed on, so it stays
//! text until an agent or a client asks for its value.

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
/// The text is compact: it has no whitespace between values and no line break, each name of a member occurs once in its
/// object (of several members of one name, the last one stays), and texts and numbers are written in one form. Members
/// keep their order.
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
    /// If the value cannot be written as JSON: it has a map whose keys are neither texts, numbers nor booleans, or it says
    /// so itself.
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
    /// If the data does not have the form of the type, or if it nests deeper than 128 levels.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(self.as_str())
    }

    /// The parsed value. It takes up to 150 times the memory of the text.
    pub fn to_value(&self) -> Value {
        // The text is known to be JSON, and a value with as many levels has existed before, or the text was within the
        // limit of the parser.
        self.read().unwrap_or_default()
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// The member of this name, if the data is an object that has it.
    pub fn member(&self, name: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        self.read_with(read::Member(name)).ok().flatten()
    }

    /// How many JSON values it consists of: itself, and for a list or an object the values in it.
    pub fn values(&self) -> usize {
        self.0.values
    }

    /// How deep lists and objects nest in it: 0 if it is neither.
    pub fn levels(&self) -> usize {
        self.0.levels
    }

    /// Reads the data with a seed, however deep it nests.
    ///
    /// # Errors
    ///
    /// Those of the seed.
    pub fn read_with<'a, S: DeserializeSeed<'a>>(&'a self, seed: S) -> Result<S::Value, Error> {
        let mut from = serde_json::Deserializer::from_str(self.as_str());
        from.disable_recursion_limit();
        seed.deserialize(&mut from)
    }

    /// Reads the text again, however deep it nests.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.read_with(PhantomData)
    }
}

impl<T: Into<Value>> From<T> for Data {
    fn from(value: T) -> Self {
        // A value has nothing that is not JSON.
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

/// The members of objects may have different orders.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        // Members in another order take as many bytes.
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
