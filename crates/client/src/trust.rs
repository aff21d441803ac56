//! Additional origins that get the credentials.

use std::str::FromStr;

use nuncio_auth::credentials::Origin;
use url::{Host, Url};

use nuncio_model::card::Binding;

use crate::{choose::address, reference::without_userinfo};

/// An origin in the form of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trusted {
    /// With a scheme.
    Origin(Origin),
    /// `host:port`, as in a card's address of gRPC.
    Address(String),
}

/// The text is not an origin.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an origin: {reason}")]
pub struct InvalidOrigin {
    text: String,
    reason: String,
}

nuncio_model::debug_is_text!(InvalidOrigin);

impl Trusted {
    /// The origin. For an address without a scheme, the origin at which the client calls such an interface.
    pub(crate) fn origin(&self, card_url: Option<&Url>) -> Option<Origin> {
        match self {
            Self::Origin(origin) => Some(origin.clone()),
            Self::Address(text) => {
                let url = address(text, Binding::Grpc, card_url).ok()?;
                Origin::parse(url.as_str()).ok()
            }
        }
    }
}

impl FromStr for Trusted {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let text = text.trim();
        let invalid = |reason: &str| InvalidOrigin { text: without_userinfo(text), reason: reason.to_owned() };
        let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
        let url = Url::parse(&format!("http://{rest}")).map_err(|error| invalid(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("an origin has no credentials"));
        }
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if matches!(url.host(), Some(Host::Domain(name)) if !is_name(name)) {
            return Err(invalid("the host is not a valid name; patterns are not supported"));
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("an origin has no path, query or fragment"));
        }
        // A URL parser removes the default port of a known scheme. With an unknown scheme an explicit port 80 is
        // visible.
        let has_port = Url::parse(&format!("origin://{rest}")).is_ok_and(|url| url.port().is_some());
        match scheme {
            None if has_port => Ok(Self::Address(rest.trim_end_matches('/').to_owned())),
            None => Err(invalid("a scheme or a port is missing")),
            Some(_) => Origin::parse(text).map(Self::Origin).map_err(|_| invalid("the scheme must be http or https")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str, card: Option<&str>) -> String {
        let card = card.map(|card| Url::parse(card).unwrap());
        text.parse::<Trusted>().unwrap().origin(card.as_ref()).unwrap().to_string()
    }

    #[test]
    fn an_origin_with_a_scheme_is_unchanged() {
        for card in [None, Some("http://a.example/card")] {
            assert_eq!(origin("https://a.example", card), "https://a.example:443");
            assert_eq!(origin("HTTP://a.example:8080/", card), "http://a.example:8080");
            assert_eq!(origin("grpcs://[::1]:5", card), "https://[::1]:5");
        }
    }

    #[test]
    fn an_address_without_a_scheme_is_the_origin_of_its_grpc_interface() {
        assert_eq!(origin("127.0.0.1:5", None), "http://127.0.0.1:5");
        assert_eq!(origin("a.example:80", None), "https://a.example:80");
        assert_eq!(origin("a.example:5", Some("http://a.example/card")), "http://a.example:5");
        assert_eq!(origin("a.example:5", Some("http://b.example/card")), "https://a.example:5");
    }

    #[test]
    fn invalid_origins_are_refused() {
        for text in [
            "",
            "*",
            "nonsense",
            "https://*",
            "https://*.a.example",
            "a.example",
            "https://",
            "https://a.example/rpc",
            "https://a.example?x",
            "https://me@a.example",
            "ftp://a.example",
            "a.example:99999",
            "a b:1",
        ] {
            assert!(text.parse::<Trusted>().is_err(), "{text}");
        }
        let error = "https://me:secret@a.example".parse::<Trusted>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
