//! Reading a card: lenient in what is missing, strict in what makes it useless.

use bytes::Bytes;
use nuncio_model::AgentCard;
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
        return Err(invalid("it names no interfaces: it has neither supportedInterfaces nor url".to_owned()));
    }
    Ok(card)
}
