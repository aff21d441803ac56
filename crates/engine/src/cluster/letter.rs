//! What a letter says: a message or a cancel; and what is answered when nothing comes of it.

use std::collections::BTreeMap;

use nuncio_model::{Error, ErrorKind, op::SendMessageRequest};
use serde::{Deserialize, Serialize};

/// The body of a letter, as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Body {
    /// A message for the task.
    Message {
        request: Box<SendMessageRequest>,
        /// The extensions that are active.
        extensions: Vec<Box<str>>,
    },
    /// The client wants the task canceled.
    Cancel,
}

impl Body {
    pub(crate) fn encode(&self) -> Result<Box<[u8]>, Error> {
        serde_json::to_vec(self).map(Vec::into_boxed_slice).map_err(Error::internal)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(Error::internal)
    }
}

/// Why nothing comes of a letter, as its writer is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// The kinds with which runners refuse; any other is an internal error.
const KINDS: [ErrorKind; 5] = [
    ErrorKind::UnsupportedOperation,
    ErrorKind::TaskNotCancelable,
    ErrorKind::TaskNotFound,
    ErrorKind::ResourceExhausted,
    ErrorKind::Unavailable,
];

impl Refusal {
    pub(super) fn encode(error: &Error) -> Box<[u8]> {
        let refusal = Self {
            kind: format!("{:?}", error.kind()),
            message: error.message().to_owned(),
            metadata: error.metadata().clone(),
        };
        // It is text alone, and always written.
        serde_json::to_vec(&refusal).unwrap_or_default().into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Error {
        let Self { kind, message, metadata } = match serde_json::from_slice(bytes) {
            Ok(refusal) => refusal,
            Err(error) => return Error::internal(error),
        };
        let kind = KINDS.into_iter().find(|it| format!("{it:?}") == kind).unwrap_or(ErrorKind::Internal);
        metadata.into_iter().fold(Error::new(kind, message), |error, (key, value)| error.with_metadata(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_refused_elsewhere_in_the_same_words() {
        for kind in KINDS.into_iter().chain([ErrorKind::Internal]) {
            let error = Error::new(kind, "because").with_metadata("taskId", "t");
            let told = Refusal::decode(&Refusal::encode(&error));
            assert_eq!((told.kind(), told.message(), told.metadata()), (kind, "because", error.metadata()));
        }
        assert_eq!(Refusal::decode(b"{}").kind(), ErrorKind::Internal);
    }
}
