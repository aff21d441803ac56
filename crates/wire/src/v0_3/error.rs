//! Errors in JSON-RPC of 0.2 and 0.3: `data` is an object of facts, and not a list of typed details.

use nuncio_model::{Detail, Error, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{json, status};

/// Writes the `error` member of a response.
pub(super) fn write(error: &Error, to: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i32,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Data<'a>>,
    }
    json::write(
        &ErrorObject { code: status::row(error.kind()).jsonrpc, message: error.message(), data: Data::of(error) },
        to,
    );
}

/// What goes with an error.
enum Data<'a> {
    /// What a peer of an older version sent: as it came.
    Peer(&'a Value),
    /// The facts, and `fieldViolations` where params are wrong.
    Facts(&'a Error),
}

impl<'a> Data<'a> {
    fn of(error: &'a Error) -> Option<Self> {
        if let Some([Detail::Other(data)]) = error.peer_details()
            && data.get("@type").is_none()
        {
            return Some(Self::Peer(data));
        }
        let has_facts = !error.metadata().is_empty() || !error.field_violations().is_empty();
        has_facts.then_some(Self::Facts(error))
    }
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let error = match self {
            Self::Peer(data) => return data.serialize(to),
            Self::Facts(error) => error,
        };
        let mut map = to.serialize_map(None)?;
        for (key, value) in error.metadata() {
            map.serialize_entry(key, value)?;
        }
        if !error.field_violations().is_empty() {
            map.serialize_entry("fieldViolations", &status::Violations(error.field_violations()))?;
        }
        map.end()
    }
}
