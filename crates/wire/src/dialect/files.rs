//! The encoding of files in protobuf messages, about which peers disagree.

use std::{fmt, str::FromStr};

use super::Version;

/// The encoding of a file in the protobuf messages of versions 0.2 and 0.3. Their gRPC carries these messages, and
/// their HTTP+JSON carries them as JSON. JSON-RPC and other versions are not affected.
///
/// The proto defines the field as the bytes of the file. The Python SDK (0.2, 0.3, and 1.x in its 0.3 mode) puts the
/// base64 text of the bytes into the field, and fails on any other content. A message does not tell its encoding. A
/// server can infer the encoding from the `User-Agent` of the client ([`of_client`](Self::of_client)). A client needs a
/// setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FileBytes {
    /// The bytes, as the proto defines. Base64 is still recognized if the field cannot be anything else: if the media
    /// type of the file is a picture, a sound or another binary format.
    #[default]
    Raw,
    /// The base64 text of the bytes. On reading, content that is not base64 counts as the bytes.
    Base64,
}

impl FileBytes {
    /// All encodings.
    pub const ALL: &'static [Self] = &[Self::Raw, Self::Base64];

    /// The encoding that a client uses, by its `User-Agent`: base64 for the Python libraries httpx and gRPC, which the
    /// Python SDK uses, else the bytes.
    pub fn of_client(user_agent: &str) -> Self {
        let is_python = ["python-httpx/", "grpc-python/", "grpc-python-asyncio/"]
            .iter()
            .any(|name| user_agent.split([' ', ';']).any(|product| product.starts_with(name)));
        if is_python { Self::Base64 } else { Self::Raw }
    }

    /// Whether the encodings differ in a version.
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
