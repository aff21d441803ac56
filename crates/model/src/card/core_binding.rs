//! The three core bindings (section 5).

use std::{fmt, str::FromStr};

use super::binding;

/// A core binding of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP (section 9).
    JsonRpc,
    /// HTTP with JSON bodies (section 11).
    HttpJson,
    /// gRPC (section 10).
    Grpc,
}

impl Binding {
    /// All core bindings.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::HttpJson, Self::Grpc];

    /// The name of the binding in a card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => binding::JSONRPC,
            Self::HttpJson => binding::HTTP_JSON,
            Self::Grpc => binding::GRPC,
        }
    }

    /// The binding with this card name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.name().eq_ignore_ascii_case(name.trim()))
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a text that is not the name of a core binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBinding(String);

impl fmt::Display for UnknownBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a transport; the transports are jsonrpc, rest and grpc", self.0)
    }
}

impl std::error::Error for UnknownBinding {}

impl FromStr for Binding {
    type Err = UnknownBinding;

    /// Reads a card's name, or one of the short names `jsonrpc`, `rest` and `grpc`, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownBinding> {
        match text.trim().to_ascii_lowercase().as_str() {
            "rest" | "http" | "http-json" => Some(Self::HttpJson),
            "json-rpc" => Some(Self::JsonRpc),
            name => Self::from_name(name),
        }
        .ok_or_else(|| UnknownBinding(text.to_owned()))
    }
}
