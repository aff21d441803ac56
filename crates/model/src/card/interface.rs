//! The addresses of an agent (section 4.4.6).

use crate::{id::Tenant, json::json_object};

/// The names of the core bindings in a card, compared without regard to case.
pub mod binding {
    /// JSON-RPC 2.0 over HTTP (section 9).
    pub const JSONRPC: &str = "JSONRPC";
    /// gRPC (section 10).
    pub const GRPC: &str = "GRPC";
    /// HTTP with JSON bodies (section 11).
    pub const HTTP_JSON: &str = "HTTP+JSON";
}

json_object! {
    /// An address of an agent: a URL, with the binding and the protocol version at this URL (section 4.4.6).
    pub struct AgentInterface {
        /// The address: an absolute URL; for gRPC `host:port`.
        pub url: String => required "url",
        /// The binding: see [`binding`], or a URI.
        pub protocol_binding: String => required "protocolBinding" | "protocol_binding",
        /// The tenant that each request to this address must carry.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The version, `Major.Minor`.
        pub protocol_version: String => required "protocolVersion" | "protocol_version",
    }
}

impl AgentInterface {
    /// An address for this binding in version 1.0.
    pub fn new(url: impl Into<String>, protocol_binding: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            protocol_binding: protocol_binding.into(),
            tenant: None,
            protocol_version: "1.0".to_owned(),
        }
    }
}
