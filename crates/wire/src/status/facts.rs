//! Errors in JSON before 1.0. The details are one object of facts, not a list of typed objects.

use nuncio_model::{Detail, Error, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::detail::Violations;
use crate::json;

/// Writes an error with this code: the `error` member of a response, or the body of an HTTP error.
pub(crate) fn write(code: i32, error: &Error, to: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i32,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Facts<'a>>,
    }
    json::write(&ErrorObject { code, message: error.message(), data: Facts::of(error) }, to);
}

/// The `data` of an error.
enum Facts<'a> {
    /// The data of a peer of an older version, unchanged.
    Peer(&'a Value),
    /// The facts of the error, and `fieldViolations` if params are wrong.
    Own(&'a Error),
}

impl<'a> Facts<'a> {
    /// `None` if there are no facts.
    fn of(error: &'a Error) -> Option<Self> {
        if let Some([Detail::Other(data)]) = error.peer_details()
            && data.get("@type").is_none()
        {
            return Some(Self::Peer(data));
        }
        let has_facts = !error.metadata().is_empty() || !error.field_violations().is_empty();
        has_facts.then_some(Self::Own(error))
    }
}

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let error = match self {
            Self::Peer(data) => return data.serialize(to),
            Self::Own(error) => error,
        };
        let mut map = to.serialize_map(None)?;
        for (key, value) in error.metadata() {
            map.serialize_entry(key, value)?;
        }
        if !error.field_violations().is_empty() {
            map.serialize_entry("fieldViolations", &Violations(error.field_violations()))?;
        }
        map.end()
    }
}
