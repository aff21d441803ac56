//! How files are sent where protobuf has bytes for them and peers do not agree on which.

use std::{fmt, str::FromStr};

use super::Version;

/// How the bytes of a file stand in the protobuf messages of versions 0.2 and 0.3, which their gRPC carries and, as
/// JSON, their HTTP+JSON. JSON-RPC and other versions are not concerned.
///
/// The proto has the bytes of the file there. The Python SDK, of 0.2, of 0.3 and in the 0.3 mode of 1.x, has their
/// base64 there instead, and fails at all else. Nothing in a message says which it is. A server can tell by the client's
/// `User-Agent` ([`of_client`](Self::of_client)); a client must be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FileBytes {
    /// The bytes, as the proto has them. Base64 is still read for what it is where nothing else can be meant: for the
    /// files of a picture, a sound or another binary format.
    #[default]
    Raw,
    /// The base64 of the bytes. What is read and is not base64 is taken for the bytes.
    Base64,
}

impl FileBytes {
    /// Both.
    pub const ALL: &'static [Self] = &[Self::Raw, Self::Base64];

    /// How a client sends and reads files, by its `User-Agent`: in base64 if the client is of Python's httpx or gRPC,
    /// which the Python SDK uses, else as the bytes.
    pub fn of_client(user_agent: &str) -> Self {
        let is_python = ["python-httpx/", "grpc-python/", "grpc-python-asyncio/"]
            .iter()
            .any(|name| user_agent.split([' ', ';']).any(|product| product.starts_with(name)));
        if is_python { Self::Base64 } else { Self::Raw }
    }

    /// Whether the forms differ in a version.
    pub(crate) const fn matter_in(version: Version) -> bool {
        match version {
            #[cfg(feature = "v0-1")]
            Version::V0_1 => false,
            #[cfg(feature = "v0-2")]
            Version::V0_2 => true,
            #[cfg(feature = "v0-3")]
            Version::V0_3 => true,
            Version::V1_0 => false,
        }
    }

    /// `raw` or `base64`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Base64 => "base64",
        }
    }
}

impl fmt::Display for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FileBytes {
    type Err = UnknownFileBytes;

    fn from_str(text: &str) -> Result<Self, UnknownFileBytes> {
        let text = text.trim();
        Self::ALL.iter().find(|it| it.as_str().eq_ignore_ascii_case(text)).copied().ok_or(UnknownFileBytes)
    }
}

/// The text is neither `raw` nor `base64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFileBytes;

impl fmt::Display for UnknownFileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither raw nor base64")
    }
}

impl std::error::Error for UnknownFileBytes {}
