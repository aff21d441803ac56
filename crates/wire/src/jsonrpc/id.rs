//! The id of a JSON-RPC request. The response carries the same id.

use std::fmt;

use serde_json::value::RawValue;

/// The id of a request: a whole number, a string, or null. The text of the id is preserved: the response to `7` has
/// `7`, and the response to `"7"` has `"7"`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Id(Form);

#[derive(Clone, PartialEq, Eq, Hash, Default)]
enum Form {
    #[default]
    Null,
    Number(i64),
    /// The JSON of a string, or of a number that does not fit the other variant.
    Json(Box<str>),
}

impl Id {
    /// The id of a response to a request whose id could not be read.
    pub const NULL: Self = Self(Form::Null);

    /// Reads an id. `None` for JSON that cannot be an id: a fraction, a boolean, an object, a list.
    pub(super) fn read(json: &RawValue) -> Option<Self> {
        let json = json.get();
        match json.as_bytes() {
            b"null" => Some(Self::NULL),
            [b'"', ..] => Some(Self(Form::Json(json.into()))),
            [b'-' | b'0'..=b'9', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Some(Self(
                json.parse().ok().filter(|_| json != "-0").map_or_else(|| Form::Json(json.into()), Form::Number),
            )),
            _ => None,
        }
    }

    /// Whether the id is null.
    pub fn is_null(&self) -> bool {
        self.0 == Form::Null
    }

    /// Writes the id as JSON.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        match &self.0 {
            Form::Null => to.extend_from_slice(b"null"),
            Form::Number(number) => crate::json::write(number, to),
            Form::Json(json) => to.extend_from_slice(json.as_bytes()),
        }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self(Form::Number(number))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self(Form::Json(serde_json::Value::from(text).to_string().into()))
    }
}

/// Writes the id as JSON.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Null => f.write_str("null"),
            Form::Number(number) => write!(f, "{number}"),
            Form::Json(json) => f.write_str(json),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
