//! The facts of a proxy about a forwarded request: `Forwarded` (RFC 7239), and the older headers `X-Forwarded-…`.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, uri::Authority};

/// The facts of the proxy about the address of the server.
#[derive(Debug, Default)]
pub(super) struct Forwarded {
    pub(super) is_secure: bool,
    pub(super) authority: Option<Authority>,
    pub(super) prefix: Box<str>,
}

/// Reads the first values, which the outermost proxy wrote.
pub(super) fn read(headers: &HeaderMap) -> Forwarded {
    let (mut proto, mut host) =
        (first(headers, "x-forwarded-proto"), first(headers, "x-forwarded-host").map(str::to_owned));
    if let (Some(name), Some(port)) = (&host, first(headers, "x-forwarded-port"))
        && let Ok(port) = port.parse::<u16>()
        && name.parse::<Authority>().is_ok_and(|name| name.port().is_none())
        && !matches!((port, proto), (443, Some("https")) | (80, Some("http") | None))
    {
        host = Some(format!("{name}:{port}"));
    }
    for (name, value) in first(headers, "forwarded").into_iter().flat_map(pairs) {
        if name.eq_ignore_ascii_case("proto") {
            proto = Some(value);
        } else if name.eq_ignore_ascii_case("host") {
            host = Some(value.to_owned());
        }
    }
    Forwarded {
        is_secure: proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
        authority: host.and_then(|host| host.parse().ok()),
        prefix: first(headers, "x-forwarded-prefix").map(clean).unwrap_or_default(),
    }
}

/// The address of the client, as the proxy next to the server saw the address: the last value, because a client can
/// send the values before. `None` if `Forwarded` and `X-Forwarded-For` differ: a proxy that writes only one of these
/// headers forwards the client's value of the other.
pub(super) fn client(headers: &HeaderMap) -> Option<IpAddr> {
    let last = |name| headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next();
    let by_rfc = last("forwarded").and_then(|element| {
        pairs(element).find(|(name, _)| name.eq_ignore_ascii_case("for")).map(|(_, address)| address)
    });
    match (by_rfc.map(address), last("x-forwarded-for").map(address)) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => one.or(other)?,
    }
}

/// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next()).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The first value of a header.
fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()?.split(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// The pairs of an element: `for=192.0.2.1;proto=https;host="example.com:8443"`.
fn pairs(element: &str) -> impl Iterator<Item = (&str, &str)> {
    element.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim(), value.trim().trim_matches('"')))
    })
}

/// The prefix, if the text is a valid path; else empty.
fn clean(prefix: &str) -> Box<str> {
    let is_path = prefix.starts_with('/')
        && !prefix.starts_with("//")
        && prefix.parse::<http::Uri>().is_ok_and(|uri| uri.path() == prefix);
    if is_path { prefix.trim_end_matches('/').into() } else { Box::default() }
}
