//! Params of the dialect. The params contain the version and the extensions, and a filter can have the short name of a
//! state.

use std::{borrow::Cow, fmt};

use nuncio_model::{Method, TaskState, Value, json::Key};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, value::RawValue};

use super::{PREFIX, method};
use crate::{
    json,
    negotiate::{MAX_EXTENSIONS, Parameters, VERSION_HEADER},
};

/// The maximum length of a version in bytes. A longer text is cut, is not a valid version, and is refused.
const LONGEST_VERSION: usize = 32;

/// The maximum size in bytes of a list of extensions or of the params of a list request. Larger JSON is not parsed.
const LONGEST: usize = 16 * 1024;

const EXTENSIONS: &str = "A2A-Extensions";

/// The service parameters of a call, if its method belongs to the dialect.
pub(crate) fn parameters(name: &str, params: Option<&RawValue>) -> Parameters {
    let Some(params) = params.filter(|_| name.starts_with(PREFIX)) else { return Parameters::default() };
    // The decoder refuses params that are not an object.
    let Ok(members) = serde_json::from_str::<ParamsMembers<'_>>(params.get()) else { return Parameters::default() };
    Parameters {
        version: members.version.and_then(version).map(Cow::Owned),
        extensions: members.extensions.filter(|it| is_short(it)).map(extensions).unwrap_or_default(),
        params: match method(name) {
            Some(Method::ListTasks) if is_short(params) => {
                members.status.and_then(|status| with_full_state_name(params, status))
            }
            _ => None,
        },
    }
}

fn is_short(json: &RawValue) -> bool {
    json.get().len() <= LONGEST
}

/// A version: the text `"1.0"`, or the number 1.0.
fn version(value: &RawValue) -> Option<String> {
    let json = value.get();
    let mut version = match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str(json).ok()?,
        Some(b'0'..=b'9') => json.to_owned(),
        _ => return None,
    };
    version.truncate(version.floor_char_boundary(LONGEST_VERSION));
    version.shrink_to_fit();
    Some(version).filter(|version| !version.trim().is_empty())
}

/// Extension URIs, in a list or separated by commas.
fn extensions(value: &RawValue) -> Vec<Box<str>> {
    let lists = match serde_json::from_str(value.get()) {
        Ok(Value::String(list)) => vec![list],
        Ok(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut uris: Vec<Box<str>> = Vec::new();
    for uri in lists.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|uri| !uri.is_empty()) {
        if uris.len() < MAX_EXTENSIONS && !uris.iter().any(|known| **known == *uri) {
            uris.push(uri.into());
        }
    }
    uris
}

/// The params with the full name of a state instead of its short name. A filter of 1.0 accepts only full names
/// (`TASK_STATE_*`).
fn with_full_state_name(params: &RawValue, status: &RawValue) -> Option<Box<RawValue>> {
    let name: String = serde_json::from_str(status.get()).ok()?;
    let state = TaskState::from_name(&name).filter(|state| state.as_str() != name)?;
    let mut members: Map<String, Value> = serde_json::from_str(params.get()).ok()?;
    members.insert("status".to_owned(), state.as_str().into());
    Some(json::raw(&members))
}

/// The members of params that matter here. If a member is repeated, the last occurrence wins.
#[derive(Default)]
struct ParamsMembers<'a> {
    version: Option<&'a RawValue>,
    extensions: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for ParamsMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = ParamsMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("params by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParamsMembers<'de>, A::Error> {
                let mut members = ParamsMembers::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        key if key.eq_ignore_ascii_case(VERSION_HEADER) => members.version = Some(map.next_value()?),
                        key if key.eq_ignore_ascii_case(EXTENSIONS) => members.extensions = Some(map.next_value()?),
                        "status" => members.status = Some(map.next_value()?),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(members)
            }
        }
        from.deserialize_map(MembersVisitor)
    }
}
