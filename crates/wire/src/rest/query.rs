//! The query of a GET or DELETE request (sections 11.3 "URL Patterns and HTTP Methods" and 11.5 "Query Parameter Naming
//! for Request Parameters"). The parameters become the JSON of a request.

use std::{borrow::Cow, fmt::Display};

use nuncio_model::{Error, TaskState};
use percent_encoding::percent_decode_str;

use super::path::encode;
use crate::json;

/// The decoded parameters of a query. A plus sign stays a plus sign (RFC 3986).
///
/// An item is `InvalidParams` if a parameter is not UTF-8.
pub fn query_pairs(query: &str) -> impl Iterator<Item = Result<(Cow<'_, str>, Cow<'_, str>), Error>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let field = if name.is_empty() { "query" } else { name };
        let broken = |_| Error::invalid_params(field, "is not percent-encoded UTF-8");
        let decode = |text| percent_decode_str(text).decode_utf8().map_err(broken);
        Ok((decode(name)?, decode(value)?))
    })
}

/// Converts the parameters in `known` and `flags` to a JSON object, which the dialect reads like a body. ProtoJSON
/// accepts numbers, enums and times as strings. The parameters in `flags` must be booleans. Other parameters, for
/// example an API key, belong to other components and are ignored.
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
            // People also write queries by hand, so a state can have its short name. JSON accepts only the full name.
            (_, false) if name == "status" && TaskState::from_name(&value).is_some() => {
                json::write(&TaskState::from_name(&value), &mut to);
            }
            (_, false) => json::write(&*value, &mut to),
        }
    }
    to.push(b'}');
    String::from_utf8(to).map_err(Error::internal)
}

/// A path to which query parameters can be added.
pub(crate) struct Query {
    path: String,
    has_query: bool,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self { path, has_query: false }
    }

    /// Adds a parameter if it is set.
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
