//! JSON-RPC requests: a server reads them, a client writes them (sections 9.1 "Protocol Requirements" and 9.3 "Base
//! Request Structure").

use std::{borrow::Cow, fmt};

use nuncio_model::{Error, ErrorKind, json::Key};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Id;
use crate::{
    dialect::{JsonRpcDialect, Version, dialect},
    json,
};

/// A request with params that are still JSON.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The id, or `None` for a notification, which gets no response.
    pub id: Option<Id>,
    /// The method, in the spelling of the caller.
    pub method: Cow<'a, str>,
    /// The params. `None` if they are absent or null.
    pub params: Option<&'a RawValue>,
}

/// Reads the envelope of a request.
///
/// A version can make [parts of the envelope](JsonRpcDialect::envelope_is_optional) optional.
///
/// Fails with `Parse` if the body is not JSON. Fails with `InvalidRequest` if the JSON is not a request: a batch, a
/// wrong `jsonrpc`, an absent method, or an id of a wrong type. The response must carry the id that accompanies the
/// error.
pub fn parse_request(body: &[u8]) -> Result<Incoming<'_>, (Id, Error)> {
    let text = std::str::from_utf8(body).map_err(|_| broken(body))?;
    let members: EnvelopeMembers<'_> = serde_json::from_str(text).map_err(|_| broken(body))?;
    let id = match members.id.map(Id::read) {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return Err((Id::NULL, invalid("id must be a string, a whole number or null"))),
    };
    let refuse = |reason: &str| Err((id.clone().unwrap_or_default(), invalid(reason)));
    let method = members.method.map(RawValue::get).map(serde_json::from_str::<Key<'_>>);
    let jsonrpc = members.jsonrpc.map(RawValue::get).filter(|version| *version != "null");
    let may_lack = match &method {
        Some(Ok(Key(method))) if jsonrpc.is_none() || id.is_none() => MayLack::of(method),
        _ => MayLack::default(),
    };
    if jsonrpc != Some("\"2.0\"") && (jsonrpc.is_some() || !may_lack.jsonrpc) {
        return refuse("jsonrpc must be \"2.0\"");
    }
    match method {
        Some(Ok(Key(method))) => {
            let is_answered = may_lack.id || jsonrpc.is_none();
            let id = id.or(is_answered.then_some(Id::NULL));
            Ok(Incoming { id, method, params: members.params.filter(|params| params.get() != "null") })
        }
        Some(Err(_)) => refuse("method must be a string"),
        None => refuse("method is missing"),
    }
}

/// The parts of the envelope that a request can omit.
#[derive(Default)]
struct MayLack {
    jsonrpc: bool,
    /// Whether a request without an id still gets a response.
    id: bool,
}

impl MayLack {
    /// `jsonrpc` is optional if it is optional in any version that has the method. The id is optional only if it is
    /// optional in all these versions.
    fn of(method: &str) -> Self {
        let spoken = Version::ALL.iter().map(|version| dialect(*version).jsonrpc());
        let optional = spoken.filter(|it| it.method(method).is_some()).map(JsonRpcDialect::envelope_is_optional);
        let optional: Vec<_> = optional.collect();
        let jsonrpc = optional.contains(&true);
        Self { jsonrpc, id: jsonrpc && !optional.contains(&false) }
    }
}

/// The error for a body that has no members.
fn broken(body: &[u8]) -> (Id, Error) {
    let error = match json::text(body).map(|text| text.trim_start().starts_with('[')) {
        Err(error) => error,
        Ok(true) => invalid("batches are not supported"),
        Ok(false) => invalid("the request must be an object"),
    };
    (Id::NULL, error)
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("invalid request: {reason}"))
}

/// Writes a request.
pub fn write_request(id: &Id, method: &str, params: Option<&RawValue>) -> Vec<u8> {
    let mut to = Vec::with_capacity(64 + method.len() + params.map_or(0, |params| params.get().len()));
    to.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(&mut to);
    to.extend_from_slice(br#","method":"#);
    json::write(method, &mut to);
    if let Some(params) = params {
        to.extend_from_slice(br#","params":"#);
        to.extend_from_slice(params.get().as_bytes());
    }
    to.push(b'}');
    to
}

#[derive(Default)]
struct EnvelopeMembers<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for EnvelopeMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = EnvelopeMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC request")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EnvelopeMembers<'de>, A::Error> {
                let mut members = EnvelopeMembers::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "jsonrpc" => members.jsonrpc = Some(map.next_value()?),
                        "id" => members.id = Some(map.next_value()?),
                        "method" => members.method = Some(map.next_value()?),
                        "params" => members.params = Some(map.next_value()?),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(members)
            }
        }
        from.deserialize_map(MembersVisitor)
    }
}
