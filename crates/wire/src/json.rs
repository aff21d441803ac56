//! Reads and writes the JSON of the model. Reading is fast; only a failed read is repeated to find the cause.

pub(crate) mod every;

use std::fmt::Write as _;

use nuncio_model::{
    Error, ErrorKind,
    json::{reason, with_few_values},
    leniency,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

/// Reads a value from a caller. `json` is known to be JSON. Fails with `InvalidParams`, which names the field, or
/// `params` if the whole value is wrong.
pub(crate) fn params<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, Error> {
    with_few_values(|| serde_json::from_str(json)).map_err(|_| invalid::<T>(json, "params"))
}

/// Reads the body of a request. Fails with `Parse` if the body is not JSON, else with `InvalidParams`, which names the
/// field, or `body` if the whole value is wrong.
pub(crate) fn body<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, Error> {
    with_few_values(|| serde_json::from_slice(json)).or_else(|_| {
        let json = text(json)?;
        with_few_values(|| serde_json::from_str(json)).map_err(|_| invalid::<T>(json, "body"))
    })
}

/// Reads a request from params, and names every field that is wrong. `read` reads and checks the whole request, and
/// stops at the first value that cannot be read.
pub(crate) fn every_param<T>(params: &str, read: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
    read(params).map_err(|error| every::with_others(error, params, read))
}

/// As [`every_param`], from the body of a request.
pub(crate) fn every_member<T>(body: &[u8], read: impl Fn(&[u8]) -> Result<T, Error>) -> Result<T, Error> {
    read(body).map_err(|error| match std::str::from_utf8(body) {
        Ok(text) => every::with_others(error, text, |text| read(text.as_bytes())),
        Err(_) => error,
    })
}

fn invalid<'de, T: Deserialize<'de>>(json: &'de str, whole: &str) -> Error {
    let (field, description) = with_few_values(|| explain::<T>(json));
    Error::invalid_params(if field.is_empty() { whole.to_owned() } else { field }, description)
}

/// The text of a body that is JSON. Fails with `Parse`, with the position of the first error.
pub(crate) fn text(body: &[u8]) -> Result<&str, Error> {
    let not_json =
        |reason: &dyn std::fmt::Display| Error::new(ErrorKind::Parse, format!("Invalid JSON payload: {reason}"));
    let text = std::str::from_utf8(body).map_err(|_| not_json(&"it is not UTF-8"))?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| not_json(&error))?;
    Ok(text)
}

/// Reads the answer of a peer. A failed read is repeated with the leniencies for answers.
pub(crate) fn answer<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).or_else(|_| leniency::in_answer(|| answer_again(json)))
}

fn answer_again<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| {
        let (field, description) = match std::str::from_utf8(json) {
            Ok(json) => explain::<T>(json),
            Err(_) => (String::new(), "it is not UTF-8".to_owned()),
        };
        let at = if field.is_empty() { String::new() } else { format!("{field}: ") };
        Error::new(ErrorKind::InvalidAgentResponse, format!("the agent's answer cannot be read: {at}{description}"))
            .with_source(error)
    })
}

/// The field that cannot be read, and the reason.
fn explain<'de, T: Deserialize<'de>>(json: &'de str) -> (String, String) {
    let mut from = serde_json::Deserializer::from_str(json);
    match serde_path_to_error::deserialize::<_, T>(&mut from) {
        Ok(_) => (String::new(), from.end().map_or_else(|error| reason(&error), |()| "cannot be read".to_owned())),
        Err(error) => {
            let (mut field, mut reason) = (field(error.path()), reason(error.inner()));
            // A single number out of range has no field and is not an object.
            if field.is_empty() && error.inner().is_syntax() && !json.trim_start().starts_with('{') {
                reason.push_str(", expected an object");
            }
            // The error of a duplicate or missing member has the path of the enclosing object.
            if let Some((_, name)) =
                reason.split_once(" field `").filter(|(what, _)| ["duplicate", "missing"].contains(what))
            {
                let dot = if field.is_empty() { "" } else { "." };
                let _ = write!(field, "{dot}{}", name.trim_end_matches('`'));
            }
            (field, reason)
        }
    }
}

/// The path of a field, limited to the depth of the model. Paths inside free data can have any length.
fn field(path: &serde_path_to_error::Path) -> String {
    const DEEPEST: usize = 12;
    let mut field = String::new();
    for segment in path.iter().take(DEEPEST) {
        if !field.is_empty() && !matches!(segment, Segment::Seq { .. }) {
            field.push('.');
        }
        let _ = write!(field, "{segment}");
    }
    field
}

/// Appends a value.
///
/// # Panics
///
/// Never for values of the model: all their keys are strings, and none of their values refuses serialization.
pub(crate) fn write(value: &(impl Serialize + ?Sized), to: &mut Vec<u8>) {
    nuncio_model::json::write(value, to).expect("values of the model can be written");
}

/// Writes a value into a document of its own.
///
/// # Panics
///
/// Like [`write`].
pub(crate) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("values of the model can be written")
}
