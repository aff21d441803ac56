//! What can be sent.

use nuncio_model::{Message, Part, op::SendMessageRequest};

/// What [`Client::send`](crate::Client::send) takes: a text, a part, a message, or a whole request.
///
/// A text is the client's. A message goes as it is: make it with [`Message::user`].
pub trait IntoSendMessage {
    /// The request for it.
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
