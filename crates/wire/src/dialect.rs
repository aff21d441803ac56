//! The seam between versions: what a version must know, and the table of versions.
//!
//! Everything that differs between versions of the protocol is behind [`Dialect`], or behind [`RestDialect`] for
//! HTTP+JSON, which some versions lack and some spell in another JSON. Adding a version is a folder with these two
//! traits in it, a variant of [`Version`] and a line in [`dialect`] and [`rest_dialect`].

use std::{fmt, str::FromStr};

use bytes::Bytes;
use nuncio_model::{AgentCard, Call, Error, Method, Reply, StreamEvent, StreamResponse};
use serde_json::value::RawValue;

use crate::{
    rest::{self, Outgoing, RouteError, Routed},
    v1_0::V1_0,
};

/// A version of the protocol that is spoken here. Versions compare by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Version {
    /// Version 1.0.
    V1_0,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: &'static [Self] = &[Self::V1_0];

    /// The newest: what a client prefers, and how a server answers one whose version it cannot tell.
    pub const LATEST: Self = Self::V1_0;

    /// `Major.Minor`, as headers and cards carry it (section 3.6).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
        }
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
        let mut numbers = text.trim().split('.').map(number);
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(1)), Some(Some(0)), None | Some(Some(_)), None) => Ok(Self::V1_0),
            _ => Err(UnknownVersion),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
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

/// How a version writes and reads what all bindings with JSON share: calls, replies, events, cards, errors.
pub trait Dialect: sealed::Sealed + fmt::Debug + Send + Sync {
    /// Which version it is.
    fn version(&self) -> Version;

    /// The operation of a JSON-RPC method.
    fn method(&self, name: &str) -> Option<Method>;

    /// The name of an operation's JSON-RPC method.
    fn method_name(&self, method: Method) -> &'static str;

    /// Server: reads the params of a call and checks them.
    ///
    /// Absent params are an empty object. Fails with `InvalidParams` that names the field, in JSON names.
    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error>;

    /// Client: writes the params of a call.
    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error>;

    /// Server: writes the result of a call. Not for a stream, whose events are written one by one.
    ///
    /// Fails with `Internal` if the reply is not one that the operation gives; `to` is then as it was.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the result of a call. Not for a stream.
    ///
    /// Lenient: what is missing has its default. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error>;

    /// Writes one event of a stream, or the body of a webhook.
    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>);

    /// One event of a stream as bytes that all of its readers share: encoded when the first asks.
    ///
    /// Worth it for an event with many readers; for one reader, [`encode_event`](Self::encode_event) writes straight
    /// into the frame.
    fn shared_event<'event>(&self, event: &'event StreamEvent) -> &'event Bytes;

    /// Reads one event of a stream. Fails with `InvalidAgentResponse`.
    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error>;

    /// Writes an agent card as this version has it. What a server shows is [`card::encode`](crate::card::encode).
    fn encode_card(&self, card: &AgentCard) -> Vec<u8>;

    /// Reads an agent card of this version. What a client finds is for [`card::decode`](crate::card::decode). Fails with `InvalidAgentResponse`.
    fn decode_card(&self, json: &[u8]) -> Result<AgentCard, Error>;

    /// The header that names extensions, of requests and responses; lower-case is the same (section 3.2.6).
    fn extensions_header(&self) -> &'static str {
        "A2A-Extensions"
    }

    /// Writes the `error` member of a JSON-RPC response. Reading is [`jsonrpc::parse_response`], the same for all
    /// versions.
    ///
    /// [`jsonrpc::parse_response`]: crate::jsonrpc::parse_response
    fn encode_error(&self, error: &Error, to: &mut Vec<u8>);
}

/// How a version spells HTTP+JSON: paths, queries and bodies (section 11). Replies and events are those of
/// [`Dialect`].
pub trait RestDialect: Dialect {
    /// What bodies are sent as (REST-1).
    fn content_type(&self) -> &'static str {
        rest::CONTENT_TYPE
    }

    /// Server: which operation a path means. `path` begins with `/` and has no query; what the agent is mounted under
    /// is cut off.
    fn route(&self, http_method: &http::Method, path: &str) -> Result<Routed, RouteError>;

    /// Server: reads and checks a call. The path wins over the body; a tenant in both must be the same (TENANT-3).
    ///
    /// Fails with `Parse` where the body is not JSON, else with `InvalidParams` that names the field.
    fn decode_request(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error>;

    /// Client: writes a call.
    fn encode_request(&self, call: &Call) -> Result<Outgoing, Error>;

    /// Server: writes the body of a successful answer. That of a deletion is `{}` and not `null` (C-10).
    ///
    /// Fails with `Internal` if the reply is not one that the operation gives; `to` is then as it was.
    fn encode_response(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Writes the body of an error and gives its status: that of its kind, or `status` where HTTP has a finer one (405
    /// and 406 for example).
    fn encode_status(&self, error: &Error, status: Option<http::StatusCode>, to: &mut Vec<u8>) -> http::StatusCode;
}

/// The dialect of a version.
pub fn dialect(version: Version) -> &'static dyn Dialect {
    match version {
        Version::V1_0 => &V1_0,
    }
}

/// The HTTP+JSON dialect of a version, where it has that binding.
pub fn rest_dialect(version: Version) -> Option<&'static dyn RestDialect> {
    match version {
        Version::V1_0 => Some(&V1_0),
    }
}

pub(crate) mod sealed {
    /// Versions are folders of this crate.
    pub trait Sealed {}
}
