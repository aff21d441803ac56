//! Reads a card. Missing members are accepted, unless the card cannot be used without them.

use bytes::Bytes;
use nuncio_model::{AgentCard, Error};
use nuncio_wire::card;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::error::ClientError;

/// Whether a document can be a JSON object.
pub(super) fn is_json_object(document: &[u8]) -> bool {
    document.trim_ascii_start().starts_with(b"{")
}

/// Whether a JSON object has members of a card: an address, or a name with another member that describes an agent.
pub(super) fn resembles_card(document: &[u8]) -> bool {
    // Invalid JSON is reported by the next step.
    let Ok(members) = serde_json::from_slice::<Map<String, Value>>(document) else { return true };
    let has = |names: &[&str]| names.iter().filter(|name| members.contains_key(**name)).count();
    let is_reached = has(&["supportedInterfaces", "supported_interfaces", "additionalInterfaces"]) > 0;
    is_reached || (has(&["name"]) > 0 && has(&["url", "skills", "capabilities", "defaultInputModes"]) > 0)
}

/// Reads a card from the document at a location.
pub(super) fn read(at: &str, document: &Bytes) -> Result<AgentCard, ClientError> {
    let invalid =
        |reason: String| ClientError::CardInvalid { at: at.to_owned(), reason, document: Some(document.clone()) };
    if !is_json_object(document) {
        return Err(invalid("it is not a JSON object".to_owned()));
    }
    let card = card::decode(document).map_err(|error| invalid(reason(document, &error)))?;
    if card.supported_interfaces.is_empty() {
        return Err(invalid("it names no interfaces: it has neither supportedInterfaces nor url".to_owned()));
    }
    Ok(card)
}

/// The fault of a document: the position of the JSON error, or the invalid member.
fn reason(document: &[u8], error: &Error) -> String {
    match serde_json::from_slice::<IgnoredAny>(document) {
        Err(error) => format!("it is not JSON: {error}"),
        // The prefix is for answers to calls, and a card is not an answer to a call.
        Ok(_) => error.message().trim_start_matches("the agent's answer cannot be read: ").to_owned(),
    }
}
