//! Chooses an interface of a card (sections 8.3.1 and 8.3.2).
//!
//! The texts differ in three points. An interface without `protocolVersion` comes last (section 12.7 has a sample
//! without the required field). The address of gRPC may be a URL or `host:port`. A version must have the same
//! `Major.Minor` (section 3.6.2).

use std::cmp::Reverse;

use nuncio_model::{
    AgentCard,
    card::{AgentInterface, Binding},
};
use nuncio_wire::{Version, dialect};
use url::Url;

use crate::{error::ClientError, reference::is_loopback};

/// An interface that the client can call.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) interface: AgentInterface,
    pub(crate) binding: Binding,
    pub(crate) version: Version,
    pub(crate) url: Url,
}

/// The user's preferences.
#[derive(Debug, Default)]
pub(crate) struct Preferences<'a> {
    /// The preferred bindings in their order.
    pub(crate) bindings: &'a [Binding],
    /// The only allowed version.
    pub(crate) version: Option<Version>,
}

/// The interfaces that this client supports, best first: the preferred bindings in their order, then the other
/// bindings. Within a binding the newest version comes first, then the order of the card decides. An interface without
/// a version comes last and is taken as the newest version.
///
/// A pinned version excludes all other versions. An interface without a version is then taken as this version. The same
/// applies to the interfaces in `meant`, which a card declares in the form of older versions without a version: a user
/// who pins a version knows the agent. These interfaces count only if the card declares no interface of the pinned
/// version.
pub(crate) fn choose(
    card: &AgentCard,
    meant: &[AgentInterface],
    wanted: &Preferences<'_>,
    card_url: Option<&Url>,
) -> Result<Vec<Choice>, ClientError> {
    let mut found = candidates(&card.supported_interfaces, wanted, card_url);
    if wanted.version.is_some() && found.is_empty() {
        found = candidates(meant, wanted, card_url);
    }
    let mut choices = Vec::new();
    let mut wrong_address = None;
    for candidate in found {
        match candidate {
            Ok(choice) => choices.push(choice),
            Err(error) => wrong_address = wrong_address.or(Some(error)),
        }
    }
    choices.sort_by_key(|choice: &Choice| {
        let position = wanted.bindings.iter().position(|binding| *binding == choice.binding);
        let is_guess = choice.interface.protocol_version.trim().is_empty();
        (position.unwrap_or(wanted.bindings.len()), is_guess, Reverse(choice.version))
    });
    match (choices.is_empty(), wrong_address) {
        (false, _) => Ok(choices),
        (true, Some(error)) => Err(error),
        (true, None) => Err(ClientError::no_interface(card, wanted.version)),
    }
}

/// The supported interfaces, including those whose address cannot be called.
fn candidates(
    interfaces: &[AgentInterface],
    wanted: &Preferences<'_>,
    card_url: Option<&Url>,
) -> Vec<Result<Choice, ClientError>> {
    let candidate = |interface: &AgentInterface| {
        let binding = Binding::from_name(&interface.protocol_binding)?;
        let version = match interface.protocol_version.trim() {
            "" => wanted.version.unwrap_or(Version::LATEST),
            declared => declared.parse().ok().filter(|it| wanted.version.is_none_or(|wanted| wanted == *it))?,
        };
        let choice = |url| Choice { interface: interface.clone(), binding, version, url };
        has(version, binding).then(|| address(&interface.url, binding, card_url).map(choice))
    };
    interfaces.iter().filter_map(candidate).collect()
}

/// Whether a version has a binding.
pub(crate) fn has(version: Version, binding: Binding) -> bool {
    let dialect = dialect(version);
    match binding {
        Binding::JsonRpc => true,
        Binding::HttpJson => dialect.rest().is_some(),
        Binding::Grpc => dialect.grpc().is_some(),
    }
}

/// The URL that a client calls for an address in a card, which may be `host:port` for gRPC (section 10).
///
/// # Errors
///
/// `Address` if the address cannot be called: the address is not absolute, has no host, or is of another scheme.
pub fn interface_address(text: &str, binding: Binding) -> Result<Url, ClientError> {
    address(text, binding, None)
}

/// The URL at which a binding is called.
///
/// For gRPC the text may also be `host:port` or `grpc(s)://`. Without a scheme, the scheme of the card's URL is used if
/// the card has the same host; else TLS, except on this machine.
pub(crate) fn address(text: &str, binding: Binding, card_url: Option<&Url>) -> Result<Url, ClientError> {
    let invalid = |reason: String| ClientError::Address { url: text.to_owned(), binding: binding.to_string(), reason };
    let text = text.trim();
    let absolute = match (text.split_once("://"), binding) {
        (Some((scheme, rest)), Binding::Grpc) => match scheme.to_ascii_lowercase().as_str() {
            "grpc" => format!("http://{rest}"),
            "grpcs" => format!("https://{rest}"),
            _ => text.to_owned(),
        },
        (Some(_), _) => text.to_owned(),
        (None, Binding::Grpc) => {
            let host = Url::parse(&format!("http://{text}")).ok().and_then(|url| Some(url.host_str()?.to_owned()));
            let host = host.ok_or_else(|| invalid("not host:port".into()))?;
            let as_card = card_url.filter(|card| card.host_str() == Some(host.as_str())).map(Url::scheme);
            let scheme = match as_card {
                _ if text.ends_with(":443") => "https",
                Some(scheme) => scheme,
                None if is_loopback(&host) => "http",
                None => "https",
            };
            format!("{scheme}://{text}")
        }
        // Some cards have only a path, relative to the URL of the card.
        (None, _) => match card_url.and_then(|card| card.join(text).ok()) {
            Some(url) => return Ok(url),
            None => return Err(invalid("the address is not absolute".into())),
        },
    };
    let url = Url::parse(&absolute).map_err(|error| invalid(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(invalid(format!("the scheme is {scheme}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(interfaces: &[(&str, &str, &str)]) -> AgentCard {
        let mut card = AgentCard::new("a", "b");
        for (url, binding, version) in interfaces {
            let mut interface = AgentInterface::new(*url, *binding);
            interface.protocol_version = (*version).to_owned();
            card.supported_interfaces.push(interface);
        }
        card
    }

    fn order(card: &AgentCard, preferred: &[Binding]) -> Vec<Binding> {
        let wanted = Preferences { bindings: preferred, version: None };
        let choices = choose(card, &[], &wanted, None).unwrap();
        choices.iter().map(|choice| choice.binding).collect()
    }

    #[test]
    fn the_order_of_the_card_counts_unless_the_client_has_preferences() {
        let card = card(&[
            ("http://a/rest", "HTTP+JSON", "1.0"),
            ("http://a/rpc", "jsonrpc", "1.0.1"),
            ("ws://a", "WEBSOCKET", "1.0"),
            ("a:1", "GRPC", "1.0"),
        ]);
        assert_eq!(order(&card, &[]), [Binding::HttpJson, Binding::JsonRpc, Binding::Grpc]);
        assert_eq!(
            order(&card, &[Binding::Grpc, Binding::JsonRpc]),
            [Binding::Grpc, Binding::JsonRpc, Binding::HttpJson]
        );
    }

    fn paths(choices: &[Choice]) -> Vec<&str> {
        choices.iter().map(|choice| choice.url.path()).collect()
    }

    fn pinned(version: Version) -> Preferences<'static> {
        Preferences { bindings: &[], version: Some(version) }
    }

    #[test]
    fn an_interface_without_a_version_comes_last_and_other_versions_are_excluded() {
        let card =
            card(&[("http://a/1", "JSONRPC", ""), ("http://a/2", "JSONRPC", "9.9"), ("http://a/3", "JSONRPC", "1.0")]);
        let choices = choose(&card, &[], &Preferences::default(), None).unwrap();
        assert_eq!(paths(&choices), ["/3", "/1"]);
    }

    #[test]
    fn a_card_without_a_supported_interface_is_an_error_with_its_interfaces() {
        let wanted = Preferences::default();
        let error = choose(&card(&[("ws://a", "WEBSOCKET", "1.0")]), &[], &wanted, None).unwrap_err().to_string();
        assert!(error.contains("WEBSOCKET 1.0 at ws://a; this client supports versions 1.0"), "{error}");
    }

    #[test]
    fn each_binding_has_its_newest_version_first() {
        let named: Vec<_> = Version::ALL.iter().map(|it| (format!("http://a/{it}"), "JSONRPC", it.as_str())).collect();
        let mut named: Vec<_> =
            named.iter().map(|(url, binding, version)| (url.as_str(), *binding, *version)).collect();
        named.insert(0, ("http://a/unversioned", "JSONRPC", ""));
        named.insert(1, ("http://a/rest", "HTTP+JSON", "1.0"));
        let card = card(&named);
        let order = |bindings: &[Binding]| {
            let wanted = Preferences { bindings, version: None };
            let choices = choose(&card, &[], &wanted, None).unwrap();
            choices.iter().map(|it| it.url.path()[1..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(order(&[])[..2], ["rest", "1.0"], "of the same version in the card's order");
        let rpc_first = order(&[Binding::JsonRpc]);
        let newest_first = Version::ALL.iter().rev().map(|it| it.as_str());
        assert_eq!(rpc_first, newest_first.chain(["unversioned", "rest"]).collect::<Vec<_>>());
        for version in Version::ALL {
            let pinned = choose(&card, &[], &pinned(*version), None).unwrap();
            assert!(pinned.iter().all(|choice| choice.version == *version), "{version}");
            assert_eq!(paths(&pinned).last(), Some(&"/unversioned"));
        }
    }

    #[test]
    fn a_pinned_version_excludes_other_versions() {
        let newer = card(&[("http://a/new", "JSONRPC", "9.9"), ("http://a/1", "JSONRPC", "1.0.2")]);
        assert_eq!(paths(&choose(&newer, &[], &pinned(Version::V1_0), None).unwrap()), ["/1"]);
        let other = card(&[("http://a/new", "JSONRPC", "9.9"), ("http://a/old", "GRPC", "0.3")]);
        let error = choose(&other, &[], &pinned(Version::V1_0), None).unwrap_err().to_string();
        assert_eq!(
            error,
            "`a` offers no interface of version 1.0, only JSONRPC 9.9 at http://a/new, GRPC 0.3 at http://a/old; \
             request one of these versions, or none"
        );
    }

    #[test]
    fn a_pinned_version_applies_to_interfaces_without_a_version() {
        let silent = card(&[("http://a/1", "JSONRPC", "")]);
        let [choice] = &choose(&silent, &[], &pinned(Version::V1_0), None).unwrap()[..] else { panic!() };
        assert_eq!((choice.version, choice.url.path()), (Version::V1_0, "/1"));
        let guessed = card(&[("http://a/1", "JSONRPC", "0.1")]);
        let undeclared = &silent.supported_interfaces;
        assert_eq!(paths(&choose(&guessed, undeclared, &pinned(Version::V1_0), None).unwrap()), ["/1"]);
        assert!(choose(&guessed, &[], &pinned(Version::V1_0), None).is_err());
        let declared = card(&[("http://a/2", "JSONRPC", "1.0")]);
        assert_eq!(paths(&choose(&declared, undeclared, &pinned(Version::V1_0), None).unwrap()), ["/2"]);
    }

    #[test]
    fn grpc_addresses_are_accepted_in_every_form() {
        let of = |text: &str| address(text, Binding::Grpc, None).unwrap().to_string();
        assert_eq!(of("a.example:443"), "https://a.example/");
        assert_eq!(of("a.example:8443"), "https://a.example:8443/");
        assert_eq!(of("127.0.0.1:8080"), "http://127.0.0.1:8080/");
        assert_eq!(of("grpc://a.example:1"), "http://a.example:1/");
        assert_eq!(of("grpcs://a.example"), "https://a.example/");
        assert_eq!(of("https://a.example/x"), "https://a.example/x");
        let card = Url::parse("http://a.example:1/card").unwrap();
        assert_eq!(address("a.example:2", Binding::Grpc, Some(&card)).unwrap().to_string(), "http://a.example:2/");
        let card = Url::parse("https://localhost:1/card").unwrap();
        assert_eq!(address("localhost:2", Binding::Grpc, Some(&card)).unwrap().to_string(), "https://localhost:2/");
        assert!(address("", Binding::Grpc, None).is_err());
    }

    #[test]
    fn http_addresses_are_absolute_or_relative_to_the_card() {
        assert!(address("a.example/x", Binding::JsonRpc, None).is_err());
        assert!(address("ftp://a.example/x", Binding::JsonRpc, None).is_err());
        let card = Url::parse("http://a.example/.well-known/agent-card.json").unwrap();
        assert_eq!(address("/rpc", Binding::JsonRpc, Some(&card)).unwrap().to_string(), "http://a.example/rpc");
    }
}
