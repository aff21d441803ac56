//! The typed request, as in a plain handler.

use serde::Deserialize;

/// A JSON-RPC call with a message.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    #[serde(rename = "jsonrpc")]
    pub(super) _jsonrpc: String,
    pub(super) id: u64,
    pub(super) method: String,
    pub(super) params: Params,
}

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    pub(super) message: RequestMessage,
}

#[derive(Debug, Deserialize)]
pub(super) struct RequestMessage {
    #[serde(rename = "messageId")]
    pub(super) id: String,
    #[serde(rename = "role")]
    pub(super) _role: Role,
    pub(super) parts: Vec<RequestPart>,
}

#[derive(Debug, Deserialize)]
pub(super) enum Role {
    #[serde(rename = "ROLE_USER")]
    User,
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

#[derive(Debug, Deserialize)]
pub(super) struct RequestPart {
    pub(super) text: String,
}

impl Request {
    /// The text of the first part.
    pub(super) fn text(&self) -> &str {
        let first = self.params.message.parts.first();
        first.map_or("", |part| part.text.as_str())
    }
}
