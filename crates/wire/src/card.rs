//! Agent cards as they are found and shown: of every version, told apart by their members (sections 8.2 and 8.5).

use nuncio_model::{AgentCard, Error};

use crate::{
    dialect::{Version, dialect},
    negotiate::Versions,
};

/// Writes the card that `/.well-known/agent-card.json` gives: for readers of all versions that are spoken.
pub fn encode(card: &AgentCard, versions: &Versions) -> Vec<u8> {
    dialect(versions.spoken().last().copied().unwrap_or(Version::LATEST)).encode_card(card)
}

/// Writes the card that `/.well-known/agent.json` gives, where readers of versions before 0.3 look; `None` where no
/// version before 1.0 is spoken.
pub fn encode_legacy(card: &AgentCard, versions: &Versions) -> Option<Vec<u8>> {
    let older = versions.spoken().iter().copied().rev().find(|version| !version.is_declared())?;
    Some(encode_for(card, older))
}

/// Writes a card as one version alone has it.
pub fn encode_for(card: &AgentCard, version: Version) -> Vec<u8> {
    let _ = version;
    let mut to = Vec::with_capacity(2048);
    crate::json::write(card, &mut to);
    to
}

/// Reads a card of any version, told apart by its members. Fails with `InvalidAgentResponse`.
pub fn decode(json: &[u8]) -> Result<AgentCard, Error> {
    crate::json::answer(json)
}
