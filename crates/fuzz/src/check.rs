//! Checks for all decoders.

use std::fmt::Debug;

use nuncio_model::{Error, ErrorKind, FieldViolation, Method};
use nuncio_wire::Version;

/// The operation selected by the first byte of an input (`a` is the first), and the rest.
pub(crate) fn method(input: &[u8]) -> Option<(Method, &[u8])> {
    let (first, rest) = input.split_first()?;
    let index = usize::from(first.wrapping_sub(b'a')) % Method::ALL.len();
    Some((Method::ALL[index], rest))
}

/// Reads a value twice, writes the value, and reads it again: the results must be equal.
///
/// The newest version has all members of the model, so the value read again must equal the original value. An older
/// version can lack members. For an older version, the bytes written from the value read again must equal the first
/// written bytes.
pub(crate) fn settles<T: Debug + PartialEq>(
    what: &str,
    version: Version,
    (read, again): (T, Result<T, Error>),
    write: impl Fn(&T) -> Result<Vec<u8>, Error>,
    decode: impl Fn(&[u8]) -> Result<T, Error>,
) {
    let what = format!("{what} of {version}");
    let again = again.unwrap_or_else(|error| panic!("{what} cannot be read twice: {error:?}"));
    let written = |value: &T| write(value).unwrap_or_else(|error| panic!("{what}: {error:?}\n{value:#?}"));
    let first = written(&read);
    assert_eq!(shown(&written(&again)), shown(&first), "{what} is read in another way each time");
    let back = decode(&first).unwrap_or_else(|error| panic!("{what}: {error:?}\n{}", shown(&first)));
    assert_eq!(shown(&written(&back)), shown(&first), "{what} is not what was written");
    if version == Version::LATEST {
        assert_eq!(again, read, "{what} is read in another way each time");
        assert_eq!(back, read, "{what} is not what was written");
    }
}

/// Bytes in a readable form.
pub(crate) fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("{:?}", bytes.escape_ascii().to_string()),
    }
}

/// A refused call: only certain kinds are allowed, and an invalid parameter must be named.
pub(crate) fn refused_call(error: &Error) {
    let names = |it: &FieldViolation| !it.field.is_empty();
    match error.kind() {
        ErrorKind::InvalidParams => {
            let violations = error.field_violations();
            assert!(!violations.is_empty() && violations.iter().all(names), "names no field: {error:?}");
        }
        ErrorKind::Parse | ErrorKind::UnsupportedOperation | ErrorKind::ContentTypeNotSupported => {}
        kind => panic!("a call is refused as {kind:?}: {error:?}"),
    }
    assert!(!error.message().is_empty(), "says nothing: {error:?}");
}

/// An unreadable answer.
pub(crate) fn refused_answer(error: &Error) {
    let kinds = [ErrorKind::InvalidAgentResponse, ErrorKind::UnsupportedOperation, ErrorKind::Internal];
    assert!(kinds.contains(&error.kind()), "an answer is refused as {error:?}");
    assert!(!error.message().is_empty(), "says nothing: {error:?}");
}
