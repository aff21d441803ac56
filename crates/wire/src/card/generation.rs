//! The generations of cards before 1.0. Each generation has the members of the previous generation and more.

use crate::dialect::Version;

/// A family of versions with the same members in their cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    /// 0.1: `url` and `authentication`.
    First,
    /// 0.2: security schemes, more than one interface, extensions, the extended card.
    Second,
    /// 0.3: signatures, client certificates, the security of a skill.
    Third,
}

impl Generation {
    /// The generation of a version, or `None` for 1.0.
    pub(super) fn of(version: Version) -> Option<Self> {
        Self::declared(version.as_str())
    }

    /// The generation of a version in the form that a card declares, for example `0.2.5`.
    pub(super) fn declared(version: &str) -> Option<Self> {
        let mut numbers = version.trim().split('.');
        match (numbers.next()?, numbers.next()?) {
            ("0", "1") => Some(Self::First),
            ("0", "2") => Some(Self::Second),
            ("0", "3") => Some(Self::Third),
            _ => None,
        }
    }

    /// The version that a card of this generation declares, or `None` if cards of the generation declare no version.
    pub(super) fn protocol_version(self) -> Option<&'static str> {
        match self {
            Self::First => None,
            Self::Second => Some("0.2.6"),
            Self::Third => Some("0.3.0"),
        }
    }
}
