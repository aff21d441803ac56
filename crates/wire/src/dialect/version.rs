//! The versions that are spoken here.

use std::{fmt, str::FromStr};

/// A version of the protocol that is spoken here. Versions compare by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Version {
    /// Version 0.1, in which clients make the ids of tasks.
    #[cfg(feature = "v0-1")]
    V0_1,
    /// Versions 0.2.0 to 0.2.6.
    #[cfg(feature = "v0-2")]
    V0_2,
    /// Version 0.3.0.
    #[cfg(feature = "v0-3")]
    V0_3,
    /// Version 1.0.
    V1_0,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "v0-1")]
        Self::V0_1,
        #[cfg(feature = "v0-2")]
        Self::V0_2,
        #[cfg(feature = "v0-3")]
        Self::V0_3,
        Self::V1_0,
    ];

    /// The newest: what a client prefers, and how a server answers one whose version it cannot tell.
    pub const LATEST: Self = Self::V1_0;

    /// `Major.Minor`, as headers and cards carry it (section 3.6).
    pub const fn as_str(self) -> &'static str {
        match self {
            #[cfg(feature = "v0-1")]
            Self::V0_1 => "0.1",
            #[cfg(feature = "v0-2")]
            Self::V0_2 => "0.2",
            #[cfg(feature = "v0-3")]
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// Whether its requests say which version they are. A request of an older one is known by its method or path, and
    /// one that says nothing is of an older one (VER-6).
    pub const fn is_declared(self) -> bool {
        matches!(self, Self::V1_0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    /// Reads `Major.Minor`. A patch number may follow and is ignored (VER-1).
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        // As nearly every request has it.
        if let Some(version) = Self::ALL.iter().find(|version| version.as_str() == text) {
            return Ok(*version);
        }
        let mut numbers = text.trim().split('.').map(number);
        let (Some(Some(major)), Some(Some(minor)), None | Some(Some(_)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            return Err(UnknownVersion);
        };
        match (major, minor) {
            #[cfg(feature = "v0-1")]
            (0, 1) => Ok(Self::V0_1),
            #[cfg(feature = "v0-2")]
            (0, 2) => Ok(Self::V0_2),
            #[cfg(feature = "v0-3")]
            (0, 3) => Ok(Self::V0_3),
            (1, 0) => Ok(Self::V1_0),
            _ => Err(UnknownVersion),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    is_number.then(|| text.parse().ok())?
}

/// The text names no version that is spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a version of the protocol that is spoken here")
    }
}

impl std::error::Error for UnknownVersion {}
