//! The protocol versions of this build.

use std::{fmt, str::FromStr};

/// A protocol version of this build. The order of versions is their age.
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
    /// All versions, oldest first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "v0-1")]
        Self::V0_1,
        #[cfg(feature = "v0-2")]
        Self::V0_2,
        #[cfg(feature = "v0-3")]
        Self::V0_3,
        Self::V1_0,
    ];

    /// The newest version: a client prefers it, and a server uses it to answer a caller whose version is unknown.
    pub const LATEST: Self = Self::V1_0;

    /// `Major.Minor`, the form in headers and cards (section 3.6 "Versioning").
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

    /// Whether requests of this version declare the version. A request of an older version is recognized by its method
    /// or path. A request without a version belongs to an older version (section 3.6.2 "Server Responsibilities").
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

    /// Reads `Major.Minor`. A patch number can follow and is ignored (section 3.6 "Versioning").
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        // The fast path: nearly every request has exactly this text.
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

/// The text names no protocol version of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a supported version of the protocol")
    }
}

impl std::error::Error for UnknownVersion {}
