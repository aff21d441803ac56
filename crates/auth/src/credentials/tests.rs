use nuncio_model::card::{APIKeySecurityScheme, HTTPAuthSecurityScheme, OAuth2SecurityScheme, StringList};

use super::*;

const AGENT: &str = "https://agent.example/a2a";

fn held(credentials: impl IntoIterator<Item = Credential>) -> Credentials {
    credentials.into_iter().fold(Credentials::new(AGENT.parse().unwrap()), Credentials::with)
}

fn card(schemes: &[(&str, SecurityScheme)], requirements: &[&[&str]]) -> AgentCard {
    let mut card = AgentCard::new("agent", "of a test");
    card.security_schemes = schemes.iter().map(|(name, scheme)| ((*name).to_owned(), scheme.clone())).collect();
    for names in requirements {
        let schemes = names.iter().map(|name| ((*name).to_owned(), StringList::default())).collect();
        card.security_requirements.push(SecurityRequirement { schemes });
    }
    card
}

fn key_in(location: &str, name: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(APIKeySecurityScheme { location: location.into(), name: name.into(), ..Default::default() })
}

fn http(scheme: &str) -> SecurityScheme {
    SecurityScheme::HttpAuth(HTTPAuthSecurityScheme { scheme: scheme.into(), ..Default::default() })
}

/// The added headers and the query, as text.
fn placed(placement: &Placement) -> (Vec<(&str, &str)>, String) {
    let mut query = String::new();
    placement.extend_query(&mut query);
    (placement.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect(), query)
}

#[test]
fn credentials_have_default_places_if_the_card_declares_none() {
    let both = held([Credential::bearer("t"), Credential::api_key("k")]);
    let placement = both.place(AGENT, None).unwrap();
    assert_eq!(placed(&placement).0, [("authorization", "Bearer t"), ("x-api-key", "k")]);
    assert!(placement.headers().values().all(http::HeaderValue::is_sensitive));
    assert!(held([]).place(AGENT, None).unwrap().is_empty());
}

#[test]
fn a_key_is_placed_as_the_scheme_requires() {
    let key = held([Credential::api_key("k &=")]);
    let place = |scheme| key.place(AGENT, Some(&card(&[("key", scheme)], &[&["key"]]))).unwrap();
    assert_eq!(placed(&place(key_in("header", "X-Key"))).0, [("x-key", "k &=")]);
    assert_eq!(placed(&place(key_in("query", "api key"))).1, "api%20key=k%20%26%3D");
    let cookie = card(&[("key", key_in("cookie", "session"))], &[&["key"]]);
    assert_eq!(key.place(AGENT, Some(&cookie)).unwrap_err(), CredentialError::BadSecret("a cookie"));
    let placement = held([Credential::api_key("k")]).place(AGENT, Some(&cookie)).unwrap();
    assert_eq!(placed(&placement).0, [("cookie", "session=k")]);
}

#[test]
fn the_first_satisfiable_requirement_is_used() {
    let card = card(
        &[
            ("basic", http("Basic")),
            ("key", key_in("header", "X-Key")),
            ("oauth", SecurityScheme::OAuth2(OAuth2SecurityScheme::default())),
        ],
        &[&["basic"], &["key", "oauth"], &["oauth"]],
    );
    let place = |credentials: Credentials| credentials.place(AGENT, Some(&card));
    let both = place(held([Credential::bearer("t"), Credential::api_key("k")])).unwrap();
    assert_eq!(placed(&both).0, [("x-key", "k"), ("authorization", "Bearer t")]);
    assert_eq!(placed(&place(held([Credential::bearer("t")])).unwrap()).0, [("authorization", "Bearer t")]);
    let error = place(held([Credential::api_key("k")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the agent requires credentials for basic or key with oauth or oauth; no configured credential matches"
    );
    assert!(place(held([])).unwrap().is_empty());
}

#[test]
fn an_empty_requirement_needs_no_credentials() {
    let card = card(&[("bearer", http("bearer"))], &[&["bearer"], &[]]);
    assert!(held([Credential::api_key("k")]).place(AGENT, Some(&card)).unwrap().is_empty());
    assert_eq!(held([Credential::bearer("t")]).place(AGENT, Some(&card)).unwrap().headers().len(), 1);
}

#[test]
fn credentials_are_sent_only_to_their_origins() {
    let token = held([Credential::bearer("t")]).with_origin("http://127.0.0.1:8080".parse().unwrap());
    for mine in
        ["https://AGENT.example:443/x", "grpcs://agent.example", "agent.example:443", "http://127.0.0.1:8080/?a=b"]
    {
        assert!(!token.place(mine, None).unwrap().is_empty(), "{mine}");
    }
    for foreign in [
        "http://agent.example/a2a",
        "https://agent.example:8443",
        "https://agent.example.evil.test",
        "https://agent.example@evil.test",
        "https://evil.test/agent.example",
        "grpc://agent.example:443",
        "ftp://agent.example",
        "",
    ] {
        assert!(token.place(foreign, None).unwrap().is_empty(), "{foreign}");
    }
}

#[test]
fn debug_forms_do_not_contain_secrets() {
    let token = held([Credential::bearer("hush"), Credential::api_key("hush")]);
    let scheme = card(&[("key", key_in("query", "key"))], &[]);
    let placement = token.place(AGENT, Some(&scheme)).unwrap();
    for text in [format!("{token:?}"), format!("{placement:?}"), format!("{:?}", Credential::bearer("hush"))] {
        assert!(!text.contains("hush"), "{text}");
    }
}
