//! The hosts that a server answers for (RFC 9110, section 7.4 Rejecting Misdirected Requests).

use std::{net::IpAddr, str::FromStr};

use http::{HeaderMap, Uri, header::HOST};
use nuncio_model::{Error, ErrorKind};
use url::Host;

/// A host that a server answers for: a name or an address, without a port.
///
/// ```
/// let host: nuncio_server::AllowedHost = "agent.example".parse()?;
/// # Ok::<_, nuncio_server::AllowedHostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost(Allowed);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Any,
    /// In lower case, without a dot at its end.
    Name(Box<str>),
    Address(IpAddr),
}

impl AllowedHost {
    /// Every host: the host of a request is not checked. Also written `*`.
    pub const fn any() -> Self {
        Self(Allowed::Any)
    }
}

/// The text is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host")]
pub struct AllowedHostError(String);

impl FromStr for AllowedHost {
    type Err = AllowedHostError;

    fn from_str(text: &str) -> Result<Self, AllowedHostError> {
        if text == "*" {
            return Ok(Self::any());
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(Allowed::Address(address.to_canonical())));
        }
        let host = Host::parse(text).map_err(|_| AllowedHostError(text.to_owned()))?;
        Ok(Self(match host {
            Host::Domain(name) => Allowed::Name(name.trim_end_matches('.').into()),
            Host::Ipv4(address) => Allowed::Address(address.into()),
            Host::Ipv6(address) => Allowed::Address(IpAddr::from(address).to_canonical()),
        }))
    }
}

/// The hosts that a server answers for.
#[derive(Debug)]
pub(crate) struct Hosts(Vec<Allowed>);

impl Hosts {
    /// `None` if the server answers for every host. `public` is the host of the public URL.
    pub(crate) fn new(checks: bool, allowed: Vec<AllowedHost>, public: Option<&str>) -> Option<Self> {
        let mut allowed: Vec<_> = allowed.into_iter().map(|host| host.0).collect();
        if allowed.contains(&Allowed::Any) || !checks && allowed.is_empty() {
            return None;
        }
        allowed.extend(public.and_then(|host| host.parse::<AllowedHost>().ok()).map(|host| host.0));
        Some(Self(allowed))
    }

    /// Refuses a request for another host. Requests of HTTP/2, and requests of HTTP/1.1 to a proxy, have the host in
    /// the address.
    ///
    /// # Errors
    ///
    /// `MisdirectedRequest`, with a hint how to allow the host.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        let named = headers.get_all(HOST).iter().map(|value| value.to_str().unwrap_or("?"));
        let mut named = uri.authority().map(http::uri::Authority::as_str).into_iter().chain(named);
        match named.find(|authority| !self.contains(authority)) {
            None => Ok(()),
            Some(other) => Err(misdirected(other)),
        }
    }

    fn contains(&self, authority: &str) -> bool {
        let Some(host) = without_port(authority) else { return false };
        let name = host.strip_suffix('.').unwrap_or(host);
        match address(name) {
            Some(address) => address.is_loopback() || self.0.contains(&Allowed::Address(address)),
            None => {
                is_localhost(name)
                    || self.0.iter().any(|it| matches!(it, Allowed::Name(known) if known.eq_ignore_ascii_case(name)))
            }
        }
    }
}

fn misdirected(host: &str) -> Error {
    let shown: String = host.chars().filter(char::is_ascii_graphic).take(100).collect();
    let message = format!(
        "this server does not answer for the host `{shown}`; `--allowed-host` of `nuncio serve`, or its `--public-url`, \
         adds a host"
    );
    Error::new(ErrorKind::MisdirectedRequest, message)
}

/// The host of an authority; `None` if the text has a user or is not an authority.
fn without_port(authority: &str) -> Option<&str> {
    let end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_port = |port: &str| port.strip_prefix(':').is_some_and(|port| port.bytes().all(|it| it.is_ascii_digit()));
    (!host.contains('@') && (port.is_empty() || is_port(port))).then_some(host)
}

/// The address of a host, in every form that clients accept: `127.1` is 127.0.0.1.
fn address(host: &str) -> Option<IpAddr> {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']')?.parse().ok().map(|address: IpAddr| address.to_canonical());
    }
    if !host.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    host.parse().ok().or_else(|| match Host::parse(host) {
        Ok(Host::Ipv4(address)) => Some(address.into()),
        _ => None,
    })
}

/// `localhost` and the names below `localhost`, which resolve to loopback addresses only (RFC 6761, section 6.3).
fn is_localhost(name: &str) -> bool {
    const NAME: &str = "localhost";
    let Some(at) = name.len().checked_sub(NAME.len()) else { return false };
    name.is_char_boundary(at)
        && name[at..].eq_ignore_ascii_case(NAME)
        && (at == 0 || at > 1 && name.as_bytes()[at - 1] == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allowed: &[&str], public: Option<&str>) -> Hosts {
        let allowed = allowed.iter().map(|host| host.parse().unwrap()).collect();
        Hosts::new(true, allowed, public).unwrap()
    }

    #[test]
    fn local_names_and_configured_hosts_are_accepted() {
        let hosts = hosts(&["Agent.Example.", "192.0.2.1", "::ffff:192.0.2.2", "2001:db8::1"], Some("public.example"));
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "a.localhost:1",
            "a.b.localhost",
            "127.0.0.1:80",
            "127.9.8.7",
            "127.1",
            "0x7f.1:8080",
            "[::1]",
            "[::1]:8080",
            "[::ffff:127.0.0.1]:1",
            "agent.example",
            "AGENT.example.:443",
            "192.0.2.1:8080",
            "192.0.2.2",
            "[2001:db8::1]:80",
            "public.example:8443",
        ] {
            assert!(hosts.contains(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            ".localhost",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil@127.0.0.1",
            "127.0.0.1:80:90",
            "127.0.0.1:x",
            "[::1",
            "[::1]x",
            "[::2]",
            "0.0.0.0",
            "10.0.0.1",
            "3232235777",
            "a.agent.example",
            "",
            ":80",
            "?",
            "ünlocalhost",
        ] {
            assert!(!hosts.contains(host), "{host}");
        }
    }

    #[test]
    fn any_host_disables_the_check_and_a_configured_host_enables_it() {
        assert!(Hosts::new(true, vec![AllowedHost::any()], None).is_none());
        assert!(Hosts::new(false, Vec::new(), Some("public.example")).is_none());
        let named = Hosts::new(false, vec!["agent.example".parse().unwrap()], Some("public.example")).unwrap();
        assert!(named.contains("public.example") && named.contains("agent.example") && !named.contains("x.example"));
        for text in ["", "https://a", "a:80", "a b", "a/b"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
