//! The `authentication` member of 0.1: names of schemes, and a text that can hold JSON with more facts about the
//! schemes. The text never contains a secret.

use std::collections::HashSet;

use nuncio_model::{
    AgentCard,
    card::{
        APIKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, HTTPAuthSecurityScheme,
        OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, SecurityRequirement, SecurityScheme,
    },
};
use serde_json::{Map, Value, json};

use super::{generation::Generation, members::text, security};

/// The header of an API key if the card names no header.
const API_KEY_HEADER: &str = "X-API-Key";

/// Reads the schemes. Each scheme alone is sufficient.
pub(super) fn read(authentication: &Map<String, Value>, card: &mut AgentCard) {
    let credentials = text(authentication, "credentials").and_then(|text| serde_json::from_str(text).ok());
    let credentials = credentials.unwrap_or_default();
    let names = match authentication.get("schemes") {
        // An example of 0.1 has a single name without a list.
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for name in names.into_iter().map(str::trim) {
        let Some((key, scheme)) = scheme(name, &credentials) else { continue };
        if card.security_schemes.insert(key.clone(), scheme).is_none() {
            card.security_requirements.push(SecurityRequirement::scheme(key));
        }
    }
}

fn scheme(name: &str, credentials: &Map<String, Value>) -> Option<(String, SecurityScheme)> {
    let member_text = |member: &str| text(credentials, member).map(str::to_owned);
    let (key, scheme) = match name.to_ascii_lowercase().as_str() {
        "" | "none" | "public" => return None,
        "apikey" | "api_key" | "api-key" => (
            "apiKey".to_owned(),
            SecurityScheme::ApiKey(APIKeySecurityScheme {
                location: member_text("in").unwrap_or_else(|| "header".to_owned()),
                name: member_text("name").unwrap_or_else(|| API_KEY_HEADER.to_owned()),
                ..APIKeySecurityScheme::default()
            }),
        ),
        "oauth2" => {
            let flows = flows(credentials);
            ("oauth2".to_owned(), SecurityScheme::OAuth2(OAuth2SecurityScheme { flows, ..Default::default() }))
        }
        "openidconnect" => {
            let open_id_connect_url = member_text("openIdConnectUrl").unwrap_or_default();
            let scheme = OpenIdConnectSecurityScheme { open_id_connect_url, ..Default::default() };
            ("openIdConnect".to_owned(), SecurityScheme::OpenIdConnect(scheme))
        }
        http => {
            let scheme = HTTPAuthSecurityScheme { scheme: name.to_owned(), ..Default::default() };
            (http.to_owned(), SecurityScheme::HttpAuth(scheme))
        }
    };
    Some((key, scheme))
}

fn flows(credentials: &Map<String, Value>) -> OAuthFlows {
    let scopes = credentials.get("scopes").cloned().and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
    let member_text = |member: &str| text(credentials, member).map(str::to_owned);
    match (member_text("authorizationUrl"), member_text("tokenUrl")) {
        (Some(authorization_url), token_url) => OAuthFlows::AuthorizationCode(AuthorizationCodeOAuthFlow {
            authorization_url,
            token_url: token_url.unwrap_or_default(),
            scopes,
            ..Default::default()
        }),
        (None, Some(token_url)) => {
            OAuthFlows::ClientCredentials(ClientCredentialsOAuthFlow { token_url, scopes, ..Default::default() })
        }
        (None, None) => OAuthFlows::Unknown,
    }
}

/// Writes the schemes that the card requires. If the card states no requirements, writes all schemes of the card.
pub(super) fn write(card: &AgentCard) -> Value {
    let mut needed: Vec<&String> = card.security_requirements.iter().flat_map(|it| it.schemes.keys()).collect();
    if needed.is_empty() {
        needed = card.security_schemes.keys().collect();
    }
    let (mut names, mut known, mut credentials) = (Vec::new(), HashSet::new(), Map::new());
    for scheme in needed.into_iter().filter_map(|name| card.security_schemes.get(name)) {
        let name = match scheme {
            SecurityScheme::ApiKey(_) => "ApiKey",
            SecurityScheme::HttpAuth(http) if http.scheme.eq_ignore_ascii_case("bearer") => "Bearer",
            SecurityScheme::HttpAuth(http) if http.scheme.eq_ignore_ascii_case("basic") => "Basic",
            SecurityScheme::HttpAuth(http) => &http.scheme,
            SecurityScheme::OAuth2(_) => "OAuth2",
            SecurityScheme::OpenIdConnect(_) => "OpenIdConnect",
            _ => continue,
        };
        if known.insert(name.to_ascii_lowercase()) {
            names.push(name.to_owned());
            if !matches!(scheme, SecurityScheme::HttpAuth(_)) {
                credentials.extend(details(scheme));
            }
        }
    }
    let mut authentication = Map::from_iter([("schemes".to_owned(), json!(names))]);
    if !credentials.is_empty() {
        authentication.insert("credentials".into(), Value::Object(credentials).to_string().into());
    }
    authentication.into()
}

/// The facts about a scheme that a client needs beside the name: the place and name of a header, or addresses.
fn details(scheme: &SecurityScheme) -> Map<String, Value> {
    let Some(Value::Object(mut details)) = security::write(scheme, Generation::Third) else { return Map::new() };
    if let Some(Value::Object(flows)) = details.remove("flows") {
        details.extend(flows.into_iter().filter_map(|(_, flow)| flow.as_object().cloned()).flatten());
    }
    let facts = ["in", "name", "authorizationUrl", "tokenUrl", "scopes", "openIdConnectUrl"];
    details.retain(|name, _| facts.contains(&name.as_str()));
    details
}
