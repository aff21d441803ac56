//! The address of this server for its clients: from the configuration, from a trusted proxy, or from the request
//! (section 4.4.6 "AgentInterface").

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use http::{
    HeaderMap, Uri,
    header::HOST,
    request::Parts,
    uri::{Authority, Scheme},
};
use nuncio_model::address::without_secrets;
use url::Host;

use super::forwarded::{self, Forwarded};
use crate::stack::Peer;

/// The public address of a server: `https://agent.example`. If a proxy serves the agent under a path, the address has
/// the path: `https://example.com/agents/one`.
///
/// The proxy may keep the path in requests or remove the path; the server accepts both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(UrlPrefix);

/// The text cannot be an address in a card.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be the public URL: {reason}")]
pub struct PublicUrlError {
    url: String,
    reason: &'static str,
}

nuncio_model::debug_is_text!(PublicUrlError);

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(url: &str) -> Result<Self, PublicUrlError> {
        let error = |reason| PublicUrlError { url: without_secrets(url), reason };
        let uri: Uri = url.parse().map_err(|_| error("it is not a URL"))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(error("it must begin with https:// or http://")),
        };
        if uri.query().is_some() || url.contains('#') {
            return Err(error("it must not have a query or a fragment"));
        }
        if has_user(uri.authority()) {
            return Err(error("a user or a password in the address would be public"));
        }
        let authority =
            uri.authority().filter(|it| is_reachable(it)).ok_or_else(|| error("no client can reach the host"))?;
        Ok(Self(UrlPrefix { is_secure, authority: authority.clone(), prefix: uri.path().trim_end_matches('/').into() }))
    }
}

impl PublicUrl {
    /// The path, if the URL has a path.
    pub(crate) fn path(&self) -> Option<&str> {
        Some(&*self.0.prefix).filter(|path| !path.is_empty())
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.url(""))
    }
}

/// The common part of all addresses of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlPrefix {
    is_secure: bool,
    authority: Authority,
    /// A path that begins with `/` and does not end with `/`, or nothing.
    prefix: Box<str>,
}

impl UrlPrefix {
    /// The URL of this path.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{}{path}", self.authority, self.prefix)
    }

    /// The path of the server; empty, or without a slash at its end.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The host, and the port if the address has one.
    pub(crate) fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// The host and the port. A missing port is replaced by the port of the scheme.
    pub(crate) fn host_and_port(&self) -> String {
        match self.authority.port() {
            Some(_) => self.authority.to_string(),
            None => format!("{}:{}", self.authority.host(), if self.is_secure { 443 } else { 80 }),
        }
    }
}

/// The sources of the server's address.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    public: Option<PublicUrl>,
    trusts_forwarded: bool,
    local: UrlPrefix,
    /// The path of an agent on the server; empty for the server itself.
    place: Box<str>,
    /// The host of an agent, if the agent answers for one host only.
    host: Option<Box<str>>,
}

impl BaseUrl {
    /// `local` is the address on which the server listens. An unspecified address is replaced by the loopback address.
    pub(crate) fn new(public: Option<PublicUrl>, trusts_forwarded: bool, local: SocketAddr) -> Self {
        let host = match local {
            SocketAddr::V4(address) if address.ip().is_unspecified() => "127.0.0.1".to_owned(),
            SocketAddr::V6(address) if address.ip().is_unspecified() => "[::1]".to_owned(),
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let authority = format!("{host}:{}", local.port()).parse();
        let authority = authority.unwrap_or_else(|_| Authority::from_static("localhost"));
        let local = UrlPrefix { is_secure: false, authority, prefix: Box::default() };
        Self { public, trusts_forwarded, local, place: Box::default(), host: None }
    }

    /// The addresses of an agent at this path of the server, and for this host only.
    pub(crate) fn at(&self, place: &str, host: Option<&str>) -> Self {
        Self { place: place.into(), host: host.map(Box::from), ..self.clone() }
    }

    /// The host of the configured address, if there is one.
    pub(crate) fn public_host(&self) -> Option<&str> {
        self.public.as_ref().map(|url| url.0.authority.host())
    }

    /// Whether the card depends on the headers of a proxy.
    pub(crate) fn trusts_forwarded(&self) -> bool {
        self.public.is_none() && self.trusts_forwarded
    }

    /// The address of the server for the sender of a request with this head.
    pub(crate) fn for_request(&self, uri: &Uri, headers: &HeaderMap) -> UrlPrefix {
        let mut base = self.server_prefix(uri, headers);
        // The public URL has the host of the server, which can be the host of another agent.
        if let (Some(host), Some(_)) = (&self.host, &self.public) {
            let port = base.authority.port().map(|port| format!(":{port}")).unwrap_or_default();
            if let Ok(authority) = format!("{host}{port}").parse() {
                base.authority = authority;
            }
        }
        if !self.place.is_empty() {
            base.prefix = format!("{}{}", base.prefix, self.place).into();
        }
        base
    }

    fn server_prefix(&self, uri: &Uri, headers: &HeaderMap) -> UrlPrefix {
        if let Some(public) = &self.public {
            return public.0.clone();
        }
        let mut base = self.local.clone();
        if let Some(authority) = self.authority(uri, headers) {
            base.authority = authority;
        }
        if self.trusts_forwarded {
            let Forwarded { is_secure, prefix, .. } = forwarded::read(headers);
            (base.is_secure, base.prefix) = (is_secure, prefix);
        }
        base
    }

    /// The host that the client requested: from a trusted proxy, or else from the request.
    pub(crate) fn authority(&self, uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
        let forwarded = self.trusts_forwarded.then(|| forwarded::read(headers).authority).flatten();
        let host = || headers.get(HOST)?.to_str().ok()?.parse().ok();
        let requested = || uri.authority().cloned().or_else(host).filter(is_reachable);
        forwarded.filter(is_reachable).or_else(requested)
    }

    /// The address of the client: from the connection, or from a trusted proxy. `None` if the address is not known.
    pub(crate) fn peer(&self, head: &Parts) -> Option<IpAddr> {
        let peer = head.extensions.get::<Peer>().map(|peer| peer.0.ip());
        let forwarded = self.trusts_forwarded.then(|| forwarded::client(&head.headers)).flatten();
        forwarded.or(peer)
    }

    /// The path of a request without the prefix of the public address.
    pub(crate) fn path<'a>(&self, uri: &'a Uri) -> &'a str {
        let path = uri.path();
        let Some(PublicUrl(UrlPrefix { prefix, .. })) = &self.public else { return path };
        match path.strip_prefix(&**prefix) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }
}

/// Whether a client can use the host. The host must not have a user. The host must not be the unspecified address, in
/// any spelling that clients accept (`0`, `0x0`, `0.0.0.0.`, `[::0]`).
pub(super) fn is_reachable(authority: &Authority) -> bool {
    let is_any = |address: IpAddr| address.to_canonical().is_unspecified();
    let has_host = match Host::parse(authority.host()) {
        Ok(Host::Domain(name)) => !name.is_empty(),
        Ok(Host::Ipv4(address)) => !is_any(address.into()),
        Ok(Host::Ipv6(address)) => !is_any(address.into()),
        Err(_) => false,
    };
    has_host && !has_user(Some(authority))
}

pub(super) fn has_user(authority: Option<&Authority>) -> bool {
    authority.is_some_and(|authority| authority.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: [&str; 12] = [
        "0",
        "0.0",
        "0.0.0.0",
        "0.0.0.0.",
        "0x0",
        "00.0x0.0",
        "000000",
        "[::]",
        "[::0]",
        "[0:0::0]",
        "[::ffff:0.0.0.0]",
        "[::0.0.0.0]",
    ];

    #[test]
    fn the_unspecified_address_is_refused_in_every_spelling() {
        for host in ANY {
            let refused = format!("http://{host}").parse::<PublicUrl>().unwrap_err();
            assert_eq!(refused.reason, "no client can reach the host", "{host}");
            for port in ["", ":80"] {
                let base_url = BaseUrl::new(None, true, "127.0.0.1:9".parse().unwrap());
                let mut headers = HeaderMap::new();
                headers.insert(HOST, format!("{host}{port}").parse().unwrap());
                headers.insert("x-forwarded-host", format!("{host}{port}").parse().unwrap());
                assert_eq!(
                    base_url.for_request(&Uri::from_static("/"), &headers).url("/"),
                    "http://127.0.0.1:9/",
                    "{host}{port}"
                );
            }
        }
        for host in
            ["agent.test", "my_agent", "localhost.", "127.1", "10.0.0.0", "[::1]", "[fe80::1]", "bücher.example"]
        {
            let is_ascii = host.is_ascii();
            assert_eq!(format!("http://{host}:80").parse::<PublicUrl>().is_ok(), is_ascii, "{host}");
        }
    }

    #[test]
    fn a_password_in_the_public_url_is_refused_and_not_shown() {
        for (url, shown) in [
            ("https://me:p@ss@x/a", "https://me:***@x/a"),
            ("https://me:pa ss@x/", "https://me:***@x/"),
            ("ftp://me:pass@x", "ftp://me:***@x"),
            ("me:pass@x", "me:***@x"),
        ] {
            let refused = url.parse::<PublicUrl>().unwrap_err().to_string();
            assert!(refused.starts_with(&format!("`{shown}` cannot be the public URL: ")), "{refused}");
        }
        let refused = "https://me@x".parse::<PublicUrl>().unwrap_err();
        assert_eq!(refused.reason, "a user or a password in the address would be public");
    }
}
