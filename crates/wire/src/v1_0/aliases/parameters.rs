//! Params of the dialect: the version and the extensions stand among them, and a filter may name a state in short.

use std::{borrow::Cow, fmt};

use nuncio_model::{Method, TaskState, Value, json::Key};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, value::RawValue};

use super::{PREFIX, method};
use crate::{
    json,
    negotiate::{MAX_EXTENSIONS, Parameters, VERSION_HEADER},
};

/// No version is longer. What is left of one that is, is none either, and is refused by that name.
const LONGEST_VERSION: usize = 32;

/// What is longer is no list of extensions and no list request: it is not taken apart.
const LONGEST: usize = 16 * 1024;

const EXTENSIONS: &str = "A2A-Extensions";

/// The service parameters of a call, where its method is one of the dialect.
pub(crate) fn parameters(name: &str, params: Option<&RawValue>) -> Parameters {
    let Some(params) = params.filter(|_| name.starts_with(PREFIX)) else { return Parameters::default() };
    // Params that are no object are for the decoder to refuse.
    let Ok(members) = serde_json::from_str::<ParamsMembers<'_>>(params.get()) else { return Parameters::default() };
    Parameters {
        version: members.version.and_then(version).map(Cow::Owned),
        extensions: members.extensions.filter(|it| is_short(it)).map(extensions).unwrap_or_default(),
        params: match method(name) {
            Some(Method::ListTasks) if is_short(params) => {
                members.status.and_then(|status| with_whole_state(params, status))
            }
            _ => None,
        },
    }
}

fn is_short(json: &RawValue) -> bool {
    json.get().len() <= LONGEST
}

/// `"1.0"`, or the number that it looks like.
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

/// URIs between commas, or in a list.
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

/// The params with the whole name of a state that they name in short. A filter of 1.0 takes no short names (C-15).
fn with_whole_state(params: &RawValue, status: &RawValue) -> Option<Box<RawValue>> {
    let name: String = serde_json::from_str(status.get()).ok()?;
    let state = TaskState::from_name(&name).filter(|state| state.as_str() != name)?;
    let mut members: Map<String, Value> = serde_json::from_str(params.get()).ok()?;
    members.insert("status".to_owned(), state.as_str().into());
    Some(json::raw(&members))
}

/// What is looked for among the members of params. The last one of a repeated member counts.
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
