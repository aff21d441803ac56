//! The content of a command, a message or a cancel, and the content of a refusal.

use std::{collections::BTreeMap, time::Duration};

use nuncio_model::{Error, ErrorKind, op::SendMessageRequest};
use serde::{Deserialize, Serialize};

/// The body of a command, as JSON.
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

/// The reason for which a command was refused, as stored for the sender.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Refusal {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// The delay in milliseconds after which the client can retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

/// The kinds of errors with which runners refuse; any other kind becomes an internal error.
const KINDS: [ErrorKind; 6] = [
    ErrorKind::UnsupportedOperation,
    ErrorKind::TaskNotCancelable,
    ErrorKind::TaskNotFound,
    ErrorKind::PayloadTooLarge,
    ErrorKind::ResourceExhausted,
    ErrorKind::Unavailable,
];

impl Refusal {
    pub(super) fn encode(error: &Error) -> Box<[u8]> {
        let refusal = Self {
            kind: format!("{:?}", error.kind()),
            message: error.message().to_owned(),
            metadata: error.metadata().clone(),
            retry_after: error.retry_after().map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        };
        // Strings and numbers can always be serialized.
        serde_json::to_vec(&refusal).unwrap_or_default().into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Error {
        let Self { kind, message, metadata, retry_after } = match serde_json::from_slice(bytes) {
            Ok(refusal) => refusal,
            Err(error) => return Error::internal(error),
        };
        let kind = KINDS.into_iter().find(|it| format!("{it:?}") == kind).unwrap_or(ErrorKind::Internal);
        let mut told = Error::new(kind, message);
        if let Some(after) = retry_after {
            told = told.with_retry_after(Duration::from_millis(after));
        }
        metadata.into_iter().fold(told, |error, (key, value)| error.with_metadata(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_the_same_on_the_node_of_the_sender() {
        for kind in KINDS.into_iter().chain([ErrorKind::Internal]) {
            for after in [None, Some(Duration::from_millis(1500))] {
                let mut error = Error::new(kind, "because").with_metadata("taskId", "t");
                if let Some(after) = after {
                    error = error.with_retry_after(after);
                }
                let told = Refusal::decode(&Refusal::encode(&error));
                assert_eq!((told.kind(), told.message(), told.metadata()), (kind, "because", error.metadata()));
                assert_eq!(told.retry_after(), after);
            }
        }
        assert_eq!(Refusal::decode(b"{}").kind(), ErrorKind::Internal);
    }
}
