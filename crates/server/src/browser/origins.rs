//! The origins of pages that may call without credentials (RFC 6454; Fetch Metadata Request Headers, section 2.4).

use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{HOST, ORIGIN},
};
use nuncio_model::{Error, ErrorKind};

use crate::card::BaseUrl;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origins of pages that may call without credentials.
#[derive(Debug)]
pub(crate) struct Origins {
    named: Box<[HeaderValue]>,
    allows_any: bool,
}

impl Origins {
    /// `named` as for CORS: origins in the form of browsers, or `*`.
    pub(crate) fn new(named: &[HeaderValue]) -> Self {
        Self { named: named.into(), allows_any: named.iter().any(|origin| origin == "*") }
    }

    /// Refuses a request from a page of another origin.
    ///
    /// Browsers send `Origin` with each POST or DELETE of a page, and with each request whose response the page reads.
    /// Browsers send `Sec-Fetch-Site` with all requests to secure addresses and loopback addresses. Scripts cannot set
    /// these headers, and programs send neither. `Origin: null` comes from a page in a sandbox or from a file, and is a
    /// foreign origin.
    ///
    /// # Errors
    ///
    /// `PermissionDenied`, with a hint how to allow the origin.
    pub(crate) fn check(&self, base_url: &BaseUrl, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        if self.allows_any {
            return Ok(());
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => {}
            (Some(origin), None) if self.named.contains(origin) => return Ok(()),
            (Some(origin), None) if is_own(origin, base_url, uri, headers) => {}
            (Some(origin), _) => return Err(foreign(&format!("a page of the origin {}", shown(origin)))),
        }
        match headers.get_all(SEC_FETCH_SITE).iter().find(|site| *site != "same-origin" && *site != "none") {
            None => Ok(()),
            Some(site) => Err(foreign(&format!("a page of another origin (Sec-Fetch-Site: {})", shown(site)))),
        }
    }
}

fn foreign(page: &str) -> Error {
    let message = format!(
        "{page} may not call this agent without credentials; `nuncio serve --cors-origin ORIGIN` lets pages of an origin call"
    );
    Error::new(ErrorKind::PermissionDenied, message)
}

fn shown(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().filter(char::is_ascii_graphic).take(100).collect()
}

/// Whether a page has the origin of the server, by the address that the client or a trusted proxy names.
fn is_own(origin: &HeaderValue, base_url: &BaseUrl, uri: &Uri, headers: &HeaderMap) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let (authority, default) = match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
        (Some(authority), _) => (authority, ":80"),
        (_, Some(authority)) => (authority, ":443"),
        _ => return false,
    };
    let is_it = |own: &str| {
        let own = own.strip_suffix(default).unwrap_or(own);
        !own.is_empty() && own.eq_ignore_ascii_case(authority)
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let called = uri.authority().map(http::uri::Authority::as_str).or(host);
    called.is_some_and(is_it) || is_it(base_url.for_request(uri, headers).authority())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(named: &[&str], headers: &[(&str, &str)]) -> bool {
        let named: Vec<HeaderValue> = named.iter().map(|origin| origin.parse().unwrap()).collect();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let public = Some("https://public.example".parse().unwrap());
        let base_url = BaseUrl::new(public, false, "127.0.0.1:8080".parse().unwrap());
        Origins::new(&named).check(&base_url, &Uri::from_static("/"), &map).is_ok()
    }

    #[test]
    fn programs_and_the_servers_own_pages_may_call() {
        for headers in [
            &[][..],
            &[("host", "localhost:8080")],
            &[("host", "localhost:8080"), ("origin", "http://localhost:8080"), ("sec-fetch-site", "same-origin")],
            &[("host", "localhost:80"), ("origin", "http://localhost")],
            &[("host", "localhost:443"), ("origin", "https://localhost")],
            &[("host", "internal:8080"), ("origin", "https://public.example")],
            &[("host", "localhost:8080"), ("sec-fetch-site", "none")],
        ] {
            assert!(check(&[], headers), "{headers:?}");
        }
    }

    #[test]
    fn pages_of_other_origins_may_not_call_unless_configured() {
        let host = ("host", "localhost:8080");
        for origin in
            ["https://evil.example", "null", "http://localhost:3000", "http://localhost", "localhost:8080", ""]
        {
            let headers = [host, ("origin", origin)];
            assert!(!check(&[], &headers) && !check(&["https://app.example"], &headers), "{origin}");
            assert!(check(&["*"], &headers) && (origin.is_empty() || check(&[origin], &headers)), "{origin}");
        }
        for site in ["cross-site", "same-site", "", "CROSS-SITE"] {
            assert!(!check(&["https://app.example"], &[host, ("sec-fetch-site", site)]), "{site}");
            assert!(check(&["*"], &[host, ("sec-fetch-site", site)]), "{site}");
            let named = [host, ("origin", "https://app.example"), ("sec-fetch-site", site)];
            assert!(check(&["https://app.example"], &named), "{site}");
        }
        let own = ("origin", "http://localhost:8080");
        assert!(!check(&[], &[host, own, ("sec-fetch-site", "cross-site")]), "https is another site");
        assert!(!check(&[], &[host, own, own]), "one page has one origin");
        assert!(!check(&[], &[host, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]));
    }
}
