//! The query of a GET or DELETE: parameters in, JSON of the request out (REST-3 to REST-5).

use std::{borrow::Cow, fmt::Display};

use nuncio_model::{Error, TaskState};
use percent_encoding::percent_decode_str;

use super::path::encode;
use crate::json;

/// The parameters of a query, decoded. A plus sign is a plus sign (RFC 3986).
///
/// An item is `InvalidParams` where a parameter is not UTF-8.
pub fn query_pairs(query: &str) -> impl Iterator<Item = Result<(Cow<'_, str>, Cow<'_, str>), Error>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let field = if name.is_empty() { "query" } else { name };
        let broken = |_| Error::invalid_params(field, "is not percent-encoded UTF-8");
        let decode = |text| percent_decode_str(text).decode_utf8().map_err(broken);
        Ok((decode(name)?, decode(value)?))
    })
}

/// The parameters that are among `known` as a JSON object, for the dialect to read as it reads a body. ProtoJSON takes
/// numbers, enums and times as strings; `flags` are those that must be booleans. Others may be anyone's, an API key
/// for example, and are left alone.
pub(crate) fn to_json(query: &str, known: &[&str], flags: &[&str]) -> Result<String, Error> {
    let mut to = vec![b'{'];
    for pair in query_pairs(query) {
        let (name, value) = pair?;
        let is_flag = flags.contains(&&*name);
        if !is_flag && !known.contains(&&*name) {
            continue;
        }
        if to.len() > 1 {
            to.push(b',');
        }
        json::write(&*name, &mut to);
        to.push(b':');
        match (&*value, is_flag) {
            ("true" | "false", true) => to.extend_from_slice(value.as_bytes()),
            (_, true) => return Err(Error::invalid_params(name, "must be true or false")),
            // A query is also written by hand, so a state may have its short name. In JSON the full name stands alone.
            (_, false) if name == "status" && TaskState::from_name(&value).is_some() => {
                json::write(&TaskState::from_name(&value), &mut to);
            }
            (_, false) => json::write(&*value, &mut to),
        }
    }
    to.push(b'}');
    String::from_utf8(to).map_err(Error::internal)
}

/// A path that grows a query.
pub(crate) struct Query {
    path: String,
    has_query: bool,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self { path, has_query: false }
    }

    /// Adds a parameter that is set.
    pub(crate) fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.path.push(if self.has_query { '&' } else { '?' });
            self.has_query = true;
            self.path.push_str(name);
            self.path.push('=');
            self.path.push_str(&encode(&value.to_string()).to_string());
        }
        self
    }

    pub(crate) fn finish(self) -> String {
        self.path
    }
}
