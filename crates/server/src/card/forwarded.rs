//! What a proxy says about the request it passes on: `Forwarded` (RFC 7239), and the `X-Forwarded-…` headers before it.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, uri::Authority};

/// What the proxy says.
#[derive(Debug, Default)]
pub(super) struct Forwarded {
    pub(super) is_secure: bool,
    pub(super) authority: Option<Authority>,
    pub(super) prefix: Box<str>,
}

/// Reads what the outermost proxy said, which stands first.
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

/// The address of the client, as the proxy next to the server saw it: what stands last, because what stands before may
/// be the client's own word. `None` if `Forwarded` and `X-Forwarded-For` differ: a proxy that writes only one of them
/// passes on the other one as the client sent it.
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

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next()).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The first of a header's values.
fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()?.split(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// `for=192.0.2.1;proto=https;host="example.com:8443"`
fn pairs(element: &str) -> impl Iterator<Item = (&str, &str)> {
    element.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim(), value.trim().trim_matches('"')))
    })
}

/// A path that can stand before ours; nothing if it is none.
fn clean(prefix: &str) -> Box<str> {
    let is_path = prefix.starts_with('/')
        && !prefix.starts_with("//")
        && prefix.parse::<http::Uri>().is_ok_and(|uri| uri.path() == prefix);
    if is_path { prefix.trim_end_matches('/').into() } else { Box::default() }
}
