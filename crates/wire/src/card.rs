//! Agent cards as they are found: one document for readers of every version (section 8.2).

use nuncio_model::{AgentCard, Error};

use crate::{
    dialect::{Version, dialect},
    negotiate::Versions,
};

/// Writes a card for readers of all versions that are spoken: that of the newest, with the members that readers of
/// older ones look for beside it.
pub fn encode(card: &AgentCard, versions: &Versions) -> Vec<u8> {
    dialect(versions.spoken().last().copied().unwrap_or(Version::LATEST)).encode_card(card)
}

/// Reads a card of any version, told apart by its members. Fails with `InvalidAgentResponse`.
pub fn decode(json: &[u8]) -> Result<AgentCard, Error> {
    crate::json::answer(json)
}
