//! Agent cards of all versions.

use nuncio_model::AgentCard;
use nuncio_wire::{Version, Versions, card};

use crate::check;

/// Reads a card, and writes the card for readers of each version.
pub(crate) fn card(input: &[u8]) {
    for version in Version::ALL {
        let _ = card::meant(input, *version);
    }
    let read = match card::decode(input) {
        Ok(read) => read,
        Err(error) => return check::refused_answer(&error),
    };
    for version in Version::ALL {
        shown("a card", *version, &read);
    }
    let newest = |card: &AgentCard| Ok(card::encode_for(card, Version::LATEST));
    check::settles("a card", Version::LATEST, (read.clone(), card::decode(input)), newest, card::decode);
    let one_each = Version::ALL.iter().map(|version| Versions::only([*version]));
    for versions in one_each.chain([Versions::default(), Versions::only(Version::ALL.iter().copied().take(3))]) {
        let what = format!("a card for readers of {:?}", versions.spoken());
        settled(&what, &card::encode(&read, &versions), |card| card::encode(card, &versions));
        if let Some(legacy) = card::encode_legacy(&read, &versions) {
            let reread = card::decode(&legacy);
            assert!(reread.is_ok(), "{what}: {reread:?}\n{}", check::shown(&legacy));
        }
    }
}

/// Checks the card of a version; a version can lack members of the card.
pub(crate) fn shown(what: &str, version: Version, card: &AgentCard) {
    let write = |card: &AgentCard| card::encode_for(card, version);
    settled(&format!("{what} of {version}"), &write(card), write);
}

/// A written card must be readable, and the card from reading must be written in the same way.
fn settled(what: &str, shown: &[u8], show: impl Fn(&AgentCard) -> Vec<u8>) {
    let read = card::decode(shown).unwrap_or_else(|error| panic!("{what}: {error:?}\n{}", check::shown(shown)));
    let again = show(&read);
    let reread = card::decode(&again).unwrap_or_else(|error| panic!("{what}: {error:?}\n{}", check::shown(&again)));
    assert_eq!(check::shown(&show(&reread)), check::shown(&again), "{what} does not settle");
}
