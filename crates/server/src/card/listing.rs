//! The interfaces in the card (section 8.3): a part of the interfaces that the server serves.

use std::{fmt, str::FromStr};

use http::{Uri, uri::Scheme};
use nuncio_model::{
    Tenant,
    address::without_secrets,
    card::{AgentInterface, Binding},
};
use nuncio_wire::{Version, Versions, dialect};

use super::address::{UrlPrefix, has_user, is_reachable};

/// The bindings that a card lists by default.
///
/// Some clients accept a card only if all its addresses are URLs on the origin of the card. The address of gRPC is
/// `host:port`, so gRPC is listed on request.
const DEFAULT: [Binding; 2] = [Binding::JsonRpc, Binding::HttpJson];

/// The address of gRPC in the card: `host:port`, or a URL with the scheme `http` or `https` and without a path.
///
/// The specification has `host:port`. A URL is for clients that accept only URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcUrl(Box<str>);

/// The text cannot be the address of gRPC in a card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be the address of gRPC: {reason}")]
pub struct GrpcUrlError {
    url: String,
    reason: &'static str,
}

impl FromStr for GrpcUrl {
    type Err = GrpcUrlError;

    fn from_str(url: &str) -> Result<Self, GrpcUrlError> {
        let error = |reason| GrpcUrlError { url: without_secrets(url), reason };
        let uri: Uri = url.parse().map_err(|_| error("not host:port and not a URL"))?;
        let is_known = |scheme: &Scheme| *scheme == Scheme::HTTPS || *scheme == Scheme::HTTP;
        if uri.scheme().is_some_and(|scheme| !is_known(scheme)) {
            return Err(error("the scheme must be https or http"));
        }
        if uri.path().len() > 1 || uri.query().is_some() || url.contains('#') {
            return Err(error("gRPC has fixed paths, so the address cannot have a path"));
        }
        if has_user(uri.authority()) {
            return Err(error("a user or a password in the address would be public"));
        }
        let authority =
            uri.authority().filter(|it| is_reachable(it)).ok_or_else(|| error("no client can reach the host"))?;
        if uri.scheme().is_none() && authority.port_u16().is_none() {
            return Err(error("without a scheme the address needs a port"));
        }
        Ok(Self(url.trim_end_matches('/').into()))
    }
}

impl fmt::Display for GrpcUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The options for the interfaces of the card.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    pub(crate) bindings: Option<Vec<Binding>>,
    pub(crate) grpc_url: Option<GrpcUrl>,
    /// The place of the agent. gRPC finds an agent that is not at the root only by its tenant.
    pub(crate) grpc: GrpcPlace,
}

/// The way in which gRPC finds an agent.
#[derive(Debug, Clone, Default)]
pub(crate) enum GrpcPlace {
    /// By the fixed paths of gRPC.
    #[default]
    Root,
    /// By the tenant in each message. Versions before 1.0 have no tenant.
    Tenant(Tenant),
    /// Not at all.
    None,
}

impl Listing {
    /// Lists gRPC at the host of the agent, in the place of the address for the whole server.
    pub(crate) fn use_own_grpc_host(&mut self) {
        if self.grpc_url.take().is_some() {
            self.bindings.get_or_insert_with(|| DEFAULT.to_vec()).push(Binding::Grpc);
        }
    }

    /// Whether one of the versions has one of the listed bindings.
    pub(crate) fn is_possible(&self, versions: &Versions) -> bool {
        versions.spoken().iter().any(|version| self.listed(*version).next().is_some())
    }

    /// The listed bindings of a version, in the order of their cost.
    fn listed(&self, version: Version) -> impl Iterator<Item = Binding> {
        let dialect = dialect(version);
        let named = self.bindings.as_deref().unwrap_or(&DEFAULT);
        let has_url = |binding| binding == Binding::Grpc && self.grpc_url.is_some();
        let is_found = match self.grpc {
            GrpcPlace::Root => true,
            GrpcPlace::Tenant(_) => version == Version::LATEST,
            GrpcPlace::None => false,
        };
        [
            (Binding::JsonRpc, true),
            (Binding::HttpJson, dialect.rest().is_some()),
            (Binding::Grpc, is_found && dialect.grpc().is_some()),
        ]
        .into_iter()
        .filter_map(move |(binding, is_spoken)| {
            (is_spoken && (named.contains(&binding) || has_url(binding))).then_some(binding)
        })
    }

    /// The interfaces, newest version first.
    pub(super) fn interfaces(&self, versions: &Versions, base: &UrlPrefix) -> Vec<AgentInterface> {
        let newest_first = versions.spoken().iter().rev();
        let each = newest_first.flat_map(|version| self.listed(*version).map(move |binding| (*version, binding)));
        each.map(|(version, binding)| AgentInterface {
            protocol_version: version.as_str().to_owned(),
            tenant: self.tenant(binding),
            ..AgentInterface::new(self.url(binding, base), binding.name())
        })
        .collect()
    }

    fn tenant(&self, binding: Binding) -> Option<Tenant> {
        match (binding, &self.grpc) {
            (Binding::Grpc, GrpcPlace::Tenant(tenant)) => Some(tenant.clone()),
            _ => None,
        }
    }

    fn url(&self, binding: Binding, base: &UrlPrefix) -> String {
        match (binding, &self.grpc_url) {
            (Binding::JsonRpc, _) => base.url("/"),
            (Binding::Grpc, Some(url)) => url.to_string(),
            (Binding::Grpc, None) => base.host_and_port(),
            _ => base.url(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grpc_address_has_a_port_or_a_scheme() {
        for url in ["agent.example:443", "[::1]:8080", "127.0.0.1:1", "https://agent.example", "http://127.0.0.1:8080/"]
        {
            assert_eq!(url.parse::<GrpcUrl>().unwrap().to_string(), url.trim_end_matches('/'));
        }
        for (url, reason) in [
            ("agent.example", "without a scheme the address needs a port"),
            ("grpc://agent.example:1", "the scheme must be https or http"),
            ("https://agent.example/a", "gRPC has fixed paths, so the address cannot have a path"),
            ("https://agent.example/?a", "gRPC has fixed paths, so the address cannot have a path"),
            ("https://0.0.0.0:1", "no client can reach the host"),
            ("0.0.0.0:1", "no client can reach the host"),
            ("me@agent.example:1", "a user or a password in the address would be public"),
            ("exa mple:1", "not host:port and not a URL"),
            ("", "not host:port and not a URL"),
        ] {
            assert_eq!(url.parse::<GrpcUrl>().unwrap_err().reason, reason, "{url}");
        }
        let refused = "https://me:secret@agent.example".parse::<GrpcUrl>().unwrap_err().to_string();
        assert!(refused.starts_with("`https://me:***@agent.example` cannot be the address of gRPC: "), "{refused}");
    }
}
