//! Reading a card: lenient in what is missing, strict in what makes it useless.

use bytes::Bytes;
use nuncio_model::{AgentCard, Value};
use nuncio_wire::card;

use crate::error::ClientError;

/// Whether a document is JSON that could be a card at all.
pub(super) fn is_json_object(document: &[u8]) -> bool {
    document.trim_ascii_start().starts_with(b"{")
}

/// Reads a card from the document at a place.
pub(super) fn read(at: &str, document: &Bytes) -> Result<AgentCard, ClientError> {
    let invalid =
        |reason: String| ClientError::CardInvalid { at: at.to_owned(), reason, document: Some(document.clone()) };
    let card = card::decode(document).map_err(|error| invalid(error.message().to_owned()))?;
    if card.supported_interfaces.is_empty() {
        return Err(invalid(why_unreachable(document)));
    }
    Ok(card)
}

/// Why a card says nowhere how the agent is reached.
fn why_unreachable(document: &[u8]) -> String {
    let card: Value = serde_json::from_slice(document).unwrap_or_default();
    match card.get("protocolVersion").and_then(Value::as_str) {
        Some(version) => format!("it is a card of version {version}, which is not spoken here"),
        None if card.get("url").is_some() => "it is a card of an older version, which is not spoken here".to_owned(),
        None => "it names no supportedInterfaces".to_owned(),
    }
}
