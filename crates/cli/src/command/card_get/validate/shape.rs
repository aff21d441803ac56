//! The messages of a card. Each message is checked against the fields of the model.

use nuncio_model::{
    AgentCard,
    card::{
        APIKeySecurityScheme, AgentCapabilities, AgentCardSignature, AgentExtension, AgentInterface, AgentProvider,
        AgentSkill, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
        HTTPAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
        OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityScheme,
    },
    json::{Described, FieldInfo},
};

/// A message and its nested messages.
pub(super) struct Shape {
    pub(super) fields: &'static [FieldInfo],
    /// By their names in JSON.
    pub(super) members: &'static [(&'static str, Holds)],
    /// Whether the message is a oneof: exactly one member must be set.
    pub(super) is_one_of: bool,
}

/// How a member holds messages.
pub(super) enum Holds {
    One(&'static Shape),
    /// In a list.
    Each(&'static Shape),
    /// In a map.
    ByName(&'static Shape),
}

const fn plain<T: Described>() -> Shape {
    with::<T>(&[])
}

const fn with<T: Described>(members: &'static [(&'static str, Holds)]) -> Shape {
    Shape { fields: T::FIELDS, members, is_one_of: false }
}

const fn one_of<T: Described>(members: &'static [(&'static str, Holds)]) -> Shape {
    Shape { fields: T::FIELDS, members, is_one_of: true }
}

/// The card. Requirements are read in two forms, and none of their members is required.
pub(super) static CARD: Shape = with::<AgentCard>(&[
    ("supportedInterfaces", Holds::Each(&INTERFACE)),
    ("provider", Holds::One(&PROVIDER)),
    ("capabilities", Holds::One(&CAPABILITIES)),
    ("securitySchemes", Holds::ByName(&SCHEME)),
    ("skills", Holds::Each(&SKILL)),
    ("signatures", Holds::Each(&SIGNATURE)),
]);

static INTERFACE: Shape = plain::<AgentInterface>();
static PROVIDER: Shape = plain::<AgentProvider>();
static SKILL: Shape = plain::<AgentSkill>();
static SIGNATURE: Shape = plain::<AgentCardSignature>();
static EXTENSION: Shape = plain::<AgentExtension>();
static CAPABILITIES: Shape = with::<AgentCapabilities>(&[("extensions", Holds::Each(&EXTENSION))]);

static SCHEME: Shape = one_of::<SecurityScheme>(&[
    ("apiKeySecurityScheme", Holds::One(&API_KEY)),
    ("httpAuthSecurityScheme", Holds::One(&HTTP_AUTH)),
    ("oauth2SecurityScheme", Holds::One(&OAUTH2)),
    ("openIdConnectSecurityScheme", Holds::One(&OPEN_ID_CONNECT)),
    ("mtlsSecurityScheme", Holds::One(&MUTUAL_TLS)),
]);

static API_KEY: Shape = plain::<APIKeySecurityScheme>();
static HTTP_AUTH: Shape = plain::<HTTPAuthSecurityScheme>();
static OAUTH2: Shape = with::<OAuth2SecurityScheme>(&[("flows", Holds::One(&FLOWS))]);
static OPEN_ID_CONNECT: Shape = plain::<OpenIdConnectSecurityScheme>();
static MUTUAL_TLS: Shape = plain::<MutualTlsSecurityScheme>();

static FLOWS: Shape = one_of::<OAuthFlows>(&[
    ("authorizationCode", Holds::One(&AUTHORIZATION_CODE)),
    ("clientCredentials", Holds::One(&CLIENT_CREDENTIALS)),
    ("implicit", Holds::One(&IMPLICIT)),
    ("password", Holds::One(&PASSWORD)),
    ("deviceCode", Holds::One(&DEVICE_CODE)),
]);

static AUTHORIZATION_CODE: Shape = plain::<AuthorizationCodeOAuthFlow>();
static CLIENT_CREDENTIALS: Shape = plain::<ClientCredentialsOAuthFlow>();
static IMPLICIT: Shape = plain::<ImplicitOAuthFlow>();
static PASSWORD: Shape = plain::<PasswordOAuthFlow>();
static DEVICE_CODE: Shape = plain::<DeviceCodeOAuthFlow>();

/// Whether 1.0 knows a member of the message at this path. A card for several versions has the members of all in one
/// object.
pub(super) fn knows(path: &str, name: &str) -> bool {
    let fields = match path.split(['.', '[']).next().unwrap_or_default() {
        "" => CARD.fields,
        "capabilities" => CAPABILITIES.fields,
        "skills" => SKILL.fields,
        "securitySchemes" => SCHEME.fields,
        _ => return false,
    };
    fields.iter().any(|field| field.json == name)
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Struct, Value};
    use serde_json::json;

    use super::super::Findings;

    fn check(card: &Value) -> Findings {
        super::super::check(card.as_object().unwrap())
    }

    /// The messages of the specification.
    fn messages() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/v1.0/messages.json");
        let facts: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        facts["messages"].clone()
    }

    /// A message of this type with all members, once for each kind of a nested oneof.
    fn samples(messages: &Value, kind: &str) -> Vec<Value> {
        let fields = messages[kind]["fields"].as_array().unwrap();
        let is_one_of = fields.iter().all(|field| field["oneof"].is_string());
        let mut all = vec![Struct::new()];
        let mut kinds = Vec::new();
        for field in fields {
            let name = field["json_name"].as_str().unwrap();
            let values = values(messages, field);
            if is_one_of {
                kinds.extend(values.into_iter().map(|value| json!({name: value})));
                continue;
            }
            let with = |value: &Value| {
                let value = value.clone();
                all.iter().map(move |known| {
                    let mut known = known.clone();
                    known.insert(name.to_owned(), value.clone());
                    known
                })
            };
            all = values.iter().flat_map(with).collect();
        }
        if is_one_of { kinds } else { all.into_iter().map(Value::Object).collect() }
    }

    fn values(messages: &Value, field: &Value) -> Vec<Value> {
        let kind = field["map_value"].as_str().or_else(|| field["type"].as_str()).unwrap();
        let items = match kind {
            // What requirements hold is looked at elsewhere.
            "SecurityRequirement" => return vec![json!([])],
            kind if messages.get(kind).is_some() => samples(messages, kind),
            "bool" => vec![json!(true)],
            "google.protobuf.Struct" => vec![json!({})],
            // A text that is valid for an interface, a key and a version.
            _ => vec![match field["json_name"].as_str().unwrap() {
                "url" => json!("https://a"),
                "location" => json!("header"),
                "protocolBinding" => json!("JSONRPC"),
                "protocolVersion" => json!("1.0"),
                // The header `{"alg":"ES256"}`.
                "protected" => json!("eyJhbGciOiJFUzI1NiJ9"),
                "signature" => json!("QUJD"),
                _ => json!("x"),
            }],
        };
        let held = |item: Value| match field["cardinality"].as_str().unwrap() {
            "map" => json!({"k": item}),
            "repeated" => json!([item]),
            _ => item,
        };
        items.into_iter().map(held).collect()
    }

    /// Takes each required member out, one after another, and says where.
    fn without(messages: &Value, kind: &str, path: &str, whole: &Value) -> Vec<(String, Value)> {
        let mut lacking = Vec::new();
        for field in messages[kind]["fields"].as_array().unwrap() {
            let name = field["json_name"].as_str().unwrap();
            let Some(value) = whole.get(name) else { continue };
            let at = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            if field["required"] == true {
                let mut less = whole.clone();
                less.as_object_mut().unwrap().remove(name);
                lacking.push((at.clone(), less));
            }
            let kind = field["map_value"].as_str().or_else(|| field["type"].as_str()).unwrap();
            if messages.get(kind).is_none() {
                continue;
            }
            let (at, inner) = match field["cardinality"].as_str().unwrap() {
                "map" => (format!("{at}.k"), value.get("k")),
                "repeated" => (format!("{at}[0]"), value.get(0)),
                _ => (at, Some(value)),
            };
            let Some(inner) = inner else { continue };
            for (place, less) in without(messages, kind, &at, inner) {
                let mut whole = whole.clone();
                whole[name] = match field["cardinality"].as_str().unwrap() {
                    "map" => json!({"k": less}),
                    "repeated" => json!([less]),
                    _ => less,
                };
                lacking.push((place, whole));
            }
        }
        lacking
    }

    #[test]
    fn each_required_member_of_all_that_a_card_holds_is_missed() {
        let messages = messages();
        let cards = samples(&messages, "AgentCard");
        assert_eq!(cards.len(), 9, "four schemes, and one with five flows");
        let mut places = std::collections::BTreeSet::new();
        for card in cards {
            let found = check(&card);
            assert!(found.mistakes.is_empty() && found.remarks.is_empty(), "{found:?}");
            for (place, card) in without(&messages, "AgentCard", "", &card) {
                let missing = check(&card).mistakes;
                assert_eq!(missing, [format!("{place} is missing")], "{card}");
                places.insert(place);
            }
        }
        assert!(places.len() > 30, "{places:?}");
        assert!(places.contains("securitySchemes.k.oauth2SecurityScheme.flows.deviceCode.deviceAuthorizationUrl"));
    }

    #[test]
    fn what_is_one_of_several_kinds_is_one() {
        for empty in [json!({}), json!({"apiKeySecurityScheme": null}), json!({"nonsense": {}})] {
            let found = check(&json!({"supportedInterfaces": [], "securitySchemes": {"k": empty}})).mistakes;
            assert!(found.contains(&"securitySchemes.k is of no kind that is known".to_owned()), "{found:?}");
        }
        let flows = json!({"k": {"oauth2SecurityScheme": {"flows": {}}}});
        let found = check(&json!({"supportedInterfaces": [], "securitySchemes": flows})).mistakes;
        let expected = "securitySchemes.k.oauth2SecurityScheme.flows is of no kind that is known";
        assert!(found.contains(&expected.to_owned()), "{found:?}");
    }
}
