//! Reads and writes agent cards of every version (sections 8.2 "Discovery Mechanisms" and 8.5 "Sample Agent Card").
//!
//! The members of a card tell its version. A card of 1.0 has `supportedInterfaces`. An older card has `url` and, in
//! later versions, `preferredTransport` and `additionalInterfaces`. A document with both forms is read as 1.0. An older
//! card cannot carry the following facts: tenants, whether PKCE is needed, the device code flow, signatures, and
//! members that its generation does not define.
//!
//! A signature covers the whole card. Therefore nothing is added to a signed card, and a card that is converted for
//! readers of older versions has no signature.

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

/// Writes the card for `/.well-known/agent-card.json`, for readers of all spoken versions.
///
/// The result is a card of the newest spoken version. If that version is 1.0, the card is not signed, and the card
/// names an interface of an older version, the document also has the members of the newest such version: for example
/// `url`, and two forms of each security scheme.
pub fn encode(card: &AgentCard, versions: &Versions) -> Vec<u8> {
    let newest = versions.spoken().last().copied().unwrap_or(Version::LATEST);
    if Generation::of(newest).is_some() || !card.signatures.is_empty() {
        return encode_for(card, newest);
    }
    let Some((generation, interfaces)) = named(card, generations(versions)) else { return encode_for(card, newest) };
    written(&merge::both(card, write::members_beside(card, generation, &interfaces)))
}

/// Writes the card for `/.well-known/agent.json`. Readers of versions before 0.3 look there.
///
/// The result is a card of 0.2 if 0.2 is spoken, else of 0.3 or 0.1. If 0.1 is spoken, the card has the
/// `authentication` of 0.1. The result is `None` if no version before 1.0 is spoken or if the card names no interface
/// of such a version.
pub fn encode_legacy(card: &AgentCard, versions: &Versions) -> Option<Vec<u8>> {
    let preferred = [Generation::Second, Generation::Third, Generation::First];
    let spoken = |wanted: &Generation| generations(versions).any(|it| it == *wanted);
    let (generation, interfaces) = named(card, preferred.into_iter().filter(spoken))?;
    let mut document = write::members(card, generation, &interfaces);
    if spoken(&Generation::First) {
        document.entry("authentication").or_insert_with(|| authentication::write(card));
        if write::has_history(&card.capabilities)
            && let Some(capabilities) = document.get_mut("capabilities").and_then(serde_json::Value::as_object_mut)
        {
            capabilities.insert("stateTransitionHistory".to_owned(), true.into());
        }
    }
    Some(written(&document))
}

/// Writes a card for one version only.
///
/// An older version needs a `url`. If the card names no interface of that version, `url` is the address of the first
/// interface of the card.
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

/// Writes a card like [`encode_for`] and adds a second form of the security schemes to the form of the version.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn encode_beside(card: &AgentCard, version: Version, schemes: &impl serde::Serialize) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(&encode_for(card, version)).unwrap_or_default();
    if let Some(own) = document.get_mut("securitySchemes") {
        merge::add(own, serde_json::to_value(schemes).unwrap_or_default());
    }
    written(&document)
}

/// Reads a card of any version. The members of the card tell the version.
///
/// Members that older versions omit get their defaults. Each interface has the version that the card declares or that
/// the members imply. The version is empty only if an entry of `supportedInterfaces` has no version. A scheme with
/// several OAuth flows becomes several schemes. Signatures of a card before 1.0 are dropped, because they do not cover
/// the converted card.
///
/// Fails with `InvalidAgentResponse`.
pub fn decode(json: &[u8]) -> Result<AgentCard, Error> {
    read::card(json)
}

/// The interfaces that a user of `version` can mean, among the interfaces that a card names in the older form.
///
/// - If the card has no version, or declares 1.0 without `supportedInterfaces`, the result is all interfaces, without a
///   version.
/// - If the card declares other versions but has the `authentication` of 0.1, as [`encode`] and [`encode_legacy`] write
///   it, the result for 0.1 is the interfaces with version 0.1.
/// - Otherwise, the result is empty.
pub fn meant(json: &[u8], version: Version) -> Vec<AgentInterface> {
    let mut members: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
    lenient::settle(&mut members);
    let has = |name: &str| members::member(&members, name).is_some();
    let declared = interfaces::declared(&members);
    // A card that declares 1.0 but names its interfaces in the older form contradicts itself.
    let is_declared = declared.is_some_and(|it| Generation::declared(it).is_some() || has("supportedInterfaces"));
    match Generation::of(version) {
        Some(Generation::First) if has("authentication") => interfaces::plain(&members, version.as_str()),
        _ if is_declared || (has("authentication") && has("supportedInterfaces")) => Vec::new(),
        _ => interfaces::plain(&members, ""),
    }
}

/// Whether a card contradicts itself about its version: the card declares 1.0, names its interfaces in the older form,
/// and has no `supportedInterfaces`.
pub fn is_unclear(json: &[u8]) -> bool {
    let mut members: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
    lenient::settle(&mut members);
    let is_newer = interfaces::declared(&members).is_some_and(|it| Generation::declared(it).is_none());
    is_newer && members::member(&members, "supportedInterfaces").is_none()
}

/// The spoken generations before 1.0, newest first.
fn generations(versions: &Versions) -> impl Iterator<Item = Generation> {
    versions.spoken().iter().rev().filter_map(|version| Generation::of(*version))
}

/// The first generation of which the card names interfaces, with these interfaces.
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
