//! The values that a client can send.

use nuncio_model::{Message, Part, op::SendMessageRequest};

/// A value for [`Client::send`](crate::Client::send): a text, a part, a message, or a whole request.
///
/// A text becomes a message of the user. A message is sent unchanged; [`Message::user`] creates a message of the user.
pub trait IntoSendMessage {
    /// The request for the value.
    fn into_send_message(self) -> SendMessageRequest;
}

impl IntoSendMessage for SendMessageRequest {
    fn into_send_message(self) -> SendMessageRequest {
        self
    }
}

impl IntoSendMessage for Message {
    fn into_send_message(self) -> SendMessageRequest {
        SendMessageRequest::new(self)
    }
}

impl IntoSendMessage for Part {
    fn into_send_message(self) -> SendMessageRequest {
        Message::user(self).into_send_message()
    }
}

impl IntoSendMessage for &str {
    fn into_send_message(self) -> SendMessageRequest {
        Message::user(self).into_send_message()
    }
}

impl IntoSendMessage for String {
    fn into_send_message(self) -> SendMessageRequest {
        Message::user(self).into_send_message()
    }
}
