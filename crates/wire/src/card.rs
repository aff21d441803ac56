//! Agent cards as they are found and shown: of every version, told apart by their members (sections 8.2 and 8.5).
//!
//! A card of 1.0 names its interfaces in `supportedInterfaces`. Older ones have `url` and, later, `preferredTransport`
//! and `additionalInterfaces`; some documents have both, and are read as 1.0. What an older card cannot say is lost:
//! tenants, whether PKCE is needed, the device code flow, signatures, and what the generation does not know yet.
//!
//! A signed card stands as a whole: nothing is added to it, and what is made of it for readers of older versions has no
//! signature, because that would not be true of it.

mod authentication;
mod generation;
mod interfaces;
mod lenient;
mod members;
mod merge;
mod read;
mod security;
mod write;

use nuncio_model::{AgentCard, Error, card::AgentInterface};
use serde_json::{Map, Value};

use generation::Generation;

use crate::{dialect::Version, json, negotiate::Versions};

/// Writes the card that `/.well-known/agent-card.json` gives, for readers of all versions that are spoken.
///
/// It is a card of the newest. Where that is 1.0, it has the members of the newest older version beside its own, if it
/// names an interface of it and is not signed: `url` and the like, and two forms of each security scheme.
pub fn encode(card: &AgentCard, versions: &Versions) -> Vec<u8> {
    let newest = versions.spoken().last().copied().unwrap_or(Version::LATEST);
    if Generation::of(newest).is_some() || !card.signatures.is_empty() {
        return encode_for(card, newest);
    }
    let Some((generation, interfaces)) = named(card, generations(versions)) else { return encode_for(card, newest) };
    written(&merge::both(card, write::members_beside(card, generation, &interfaces)))
}

/// Writes the card that `/.well-known/agent.json` gives, where readers of versions before 0.3 look: a card of 0.2 where
/// that is spoken, else of 0.3 or 0.1, with the `authentication` of 0.1 where that is spoken.
///
/// `None` where no version before 1.0 is spoken, or the card names no interface of one.
pub fn encode_legacy(card: &AgentCard, versions: &Versions) -> Option<Vec<u8>> {
    let preferred = [Generation::Second, Generation::Third, Generation::First];
    let spoken = |wanted: &Generation| generations(versions).any(|it| it == *wanted);
    let (generation, interfaces) = named(card, preferred.into_iter().filter(spoken))?;
    let mut document = write::members(card, generation, &interfaces);
    if spoken(&Generation::First) {
        document.entry("authentication").or_insert_with(|| authentication::write(card));
    }
    Some(written(&document))
}

/// Writes a card as one version alone has it.
///
/// An older version needs a `url`: where the card names no interface of that version, it is that of its first.
pub fn encode_for(card: &AgentCard, version: Version) -> Vec<u8> {
    match Generation::of(version) {
        None => written(card),
        Some(generation) => {
            let mut interfaces = interfaces::of(card, generation);
            if interfaces.is_empty() {
                interfaces = card.supported_interfaces.iter().collect();
            }
            written(&write::members(card, generation, &interfaces))
        }
    }
}

/// Writes a card as [`encode_for`] does, with another form of its security schemes beside the version's.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn encode_beside(card: &AgentCard, version: Version, schemes: &impl serde::Serialize) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(&encode_for(card, version)).unwrap_or_default();
    if let Some(own) = document.get_mut("securitySchemes") {
        merge::add(own, serde_json::to_value(schemes).unwrap_or_default());
    }
    written(&document)
}

/// Reads a card of any version, told apart by its members.
///
/// What older versions leave out has its default. Each interface has the version that the card declares, or that its
/// members tell; it is empty only where an entry of `supportedInterfaces` has none. Several OAuth flows of one scheme
/// become several schemes. Signatures of a card that is not of 1.0 are dropped: they are not true of what is read.
///
/// Fails with `InvalidAgentResponse`.
pub fn decode(json: &[u8]) -> Result<AgentCard, Error> {
    read::card(json)
}

/// The interfaces that a user who asks for this version may mean, of those that a card names as older versions do: all,
/// without a version, where the card has no word on which it is of, or says that it is of 1.0 and has no
/// `supportedInterfaces`. Of a card that speaks of other versions, and has
/// the `authentication` of 0.1 beside them as [`encode`] and [`encode_legacy`] write it, those of 0.1.
pub fn meant(json: &[u8], version: Version) -> Vec<AgentInterface> {
    let mut members: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
    lenient::settle(&mut members);
    let has = |name: &str| members::member(&members, name).is_some();
    let declared = interfaces::declared(&members);
    // A card in the way of older versions that says 1.0 contradicts itself.
    let is_declared = declared.is_some_and(|it| Generation::declared(it).is_some() || has("supportedInterfaces"));
    match Generation::of(version) {
        Some(Generation::First) if has("authentication") => interfaces::plain(&members, version.as_str()),
        _ if is_declared || (has("authentication") && has("supportedInterfaces")) => Vec::new(),
        _ => interfaces::plain(&members, ""),
    }
}

/// Whether a card contradicts itself on its version: it says that it is of 1.0, and names its interfaces as older
/// versions do, without `supportedInterfaces`.
pub fn is_unclear(json: &[u8]) -> bool {
    let mut members: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
    lenient::settle(&mut members);
    let is_newer = interfaces::declared(&members).is_some_and(|it| Generation::declared(it).is_none());
    is_newer && members::member(&members, "supportedInterfaces").is_none()
}

/// The generations before 1.0 that are spoken, newest first.
fn generations(versions: &Versions) -> impl Iterator<Item = Generation> {
    versions.spoken().iter().rev().filter_map(|version| Generation::of(*version))
}

/// The first generation of which the card names interfaces, and these.
fn named(
    card: &AgentCard,
    generations: impl IntoIterator<Item = Generation>,
) -> Option<(Generation, Vec<&AgentInterface>)> {
    let named = generations.into_iter().map(|generation| (generation, interfaces::of(card, generation)));
    named.into_iter().find(|(_, interfaces)| !interfaces.is_empty())
}

fn written(document: &(impl serde::Serialize + ?Sized)) -> Vec<u8> {
    let mut to = Vec::with_capacity(2048);
    json::write(document, &mut to);
    to
}
