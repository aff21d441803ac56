//! Which of a card's interfaces to use (sections 8.3.1 and 8.3.2; contradictions C-22, C-24 and C-26).

use nuncio_model::{AgentCard, card::AgentInterface};
use nuncio_wire::Version;
use url::Url;

use crate::{binding::Binding, error::ClientError, reference::is_loopback};

/// An interface that can be spoken to.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) interface: AgentInterface,
    pub(crate) binding: Binding,
    pub(crate) version: Version,
    pub(crate) url: Url,
}

/// The interfaces that are spoken here, the best first: the client's preferred bindings in their order, then the others
/// in the card's. Interfaces of a pinned version come before others, those without a version last.
pub(crate) fn choose(
    card: &AgentCard,
    preferred: &[Binding],
    pinned: Option<Version>,
    card_url: Option<&Url>,
) -> Result<Vec<Choice>, ClientError> {
    let mut wrong_address = None;
    let mut choices = Vec::new();
    for interface in &card.supported_interfaces {
        let Some(binding) = Binding::from_name(&interface.protocol_binding) else { continue };
        let declared = interface.protocol_version.trim();
        let version = if declared.is_empty() { Some(Version::LATEST) } else { declared.parse().ok() };
        let Some(version) = version.or(pinned) else { continue };
        match address(&interface.url, binding, card_url) {
            Ok(url) => choices.push(Choice { interface: interface.clone(), binding, version, url }),
            Err(error) => wrong_address = wrong_address.or(Some(error)),
        }
    }
    let rank = |choice: &Choice| {
        let binding = preferred.iter().position(|binding| *binding == choice.binding).unwrap_or(preferred.len());
        let is_other = pinned.is_some_and(|pinned| pinned != choice.version);
        (is_other, binding, choice.interface.protocol_version.trim().is_empty())
    };
    choices.sort_by_key(rank);
    match (choices.is_empty(), wrong_address) {
        (false, _) => Ok(choices),
        (true, Some(error)) => Err(error),
        (true, None) => Err(ClientError::no_interface(card)),
    }
}

/// The URL to speak a binding to.
///
/// gRPC has `host:port` too, and `grpc(s)://` (C-24). Without a scheme it is as the card was, if that came from the same
/// host; else TLS, but not on this machine.
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
            let host = host.ok_or_else(|| invalid("it is not host:port".into()))?;
            let as_card = card_url.filter(|card| card.host_str() == Some(host.as_str())).map(Url::scheme);
            let scheme = match as_card {
                _ if text.ends_with(":443") => "https",
                Some(scheme) => scheme,
                None if is_loopback(&host) => "http",
                None => "https",
            };
            format!("{scheme}://{text}")
        }
        // Some cards have a path alone, relative to where they are.
        (None, _) => match card_url.and_then(|card| card.join(text).ok()) {
            Some(url) => return Ok(url),
            None => return Err(invalid("it is not absolute".into())),
        },
    };
    let url = Url::parse(&absolute).map_err(|error| invalid(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(invalid(format!("it is of the scheme {scheme}"))),
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
        let choices = choose(card, preferred, None, None).unwrap();
        choices.iter().map(|choice| choice.binding).collect()
    }

    #[test]
    fn the_cards_order_counts_unless_the_client_prefers_otherwise() {
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

    #[test]
    fn an_interface_without_a_version_comes_last_and_one_of_another_not_at_all() {
        let card =
            card(&[("http://a/1", "JSONRPC", ""), ("http://a/2", "JSONRPC", "9.9"), ("http://a/3", "JSONRPC", "1.0")]);
        let choices = choose(&card, &[], None, None).unwrap();
        assert_eq!(choices.iter().map(|it| it.url.path()).collect::<Vec<_>>(), ["/3", "/1"]);
    }

    #[test]
    fn a_card_without_a_spoken_interface_says_what_it_has() {
        let error = choose(&card(&[("ws://a", "WEBSOCKET", "1.0")]), &[], None, None).unwrap_err().to_string();
        assert!(error.contains("WEBSOCKET 1.0 at ws://a"), "{error}");
    }

    #[test]
    fn grpc_addresses_come_in_every_form() {
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
