//! `SendStreamingMessage` (section 3.1.2): sends a message and streams the resulting task.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use super::{SendMessageRequest, operation};
use crate::{error::FieldViolation, event::EventStream, validate::Validate};

/// A message with a streamed answer. The fields are the fields of [`SendMessageRequest`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SendStreamingMessageRequest(pub SendMessageRequest);

impl Deref for SendStreamingMessageRequest {
    type Target = SendMessageRequest;
    fn deref(&self) -> &SendMessageRequest {
        &self.0
    }
}

impl DerefMut for SendStreamingMessageRequest {
    fn deref_mut(&mut self) -> &mut SendMessageRequest {
        &mut self.0
    }
}

operation!(SendStreamingMessageRequest, SendStreamingMessage -> EventStream);

impl Validate for SendStreamingMessageRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        self.0.validate_at(path, violations);
    }
}
