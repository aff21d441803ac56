//! Authentication of callers (section 4.5).

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use crate::json::{Described, FieldInfo, In, Key, Value, field_by_serde, from_value, json_object};

json_object! {
    /// A list of strings: protobuf needs a message for a list inside a map.
    pub struct StringList {
        /// The strings.
        pub list: Vec<String> => implicit "list",
    }
}

/// Schemes that are required together, each with scopes (section 4.5.1).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SecurityRequirement {
    /// Scopes by the scheme's name.
    pub schemes: BTreeMap<String, StringList>,
}

impl SecurityRequirement {
    /// Requires this scheme, without scopes.
    pub fn scheme(name: impl Into<String>) -> Self {
        Self { schemes: BTreeMap::from([(name.into(), StringList::default())]) }
    }
}

impl Described for SecurityRequirement {
    const FIELDS: &'static [FieldInfo] = &[FieldInfo { name: "schemes", json: "schemes", presence: "implicit" }];
}

impl Serialize for SecurityRequirement {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if !self.schemes.is_empty() {
            map.serialize_entry("schemes", &self.schemes)?;
        }
        map.end()
    }
}

/// Reads `{"schemes":{"oauth":{"list":["read"]}}}`. Also reads `{"oauth":["read"]}`, the form of the sample card in
/// earlier texts of 1.0 (section 8.5, "Sample Agent Card").
impl<'de> Deserialize<'de> for SecurityRequirement {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut schemes = BTreeMap::new();
        for (name, value) in BTreeMap::<String, Value>::deserialize(from)? {
            match value {
                Value::Object(_) if name == "schemes" => schemes.append(&mut from_value(value)?),
                Value::Array(_) => {
                    schemes.insert(name, StringList { list: from_value(value)? });
                }
                _ => {}
            }
        }
        Ok(Self { schemes })
    }
}

field_by_serde!(SecurityRequirement);

/// Defines a message that is one of several, distinguished by a wrapper member.
macro_rules! json_oneof {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident($type:ty) = $proto:literal $json:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant($type),)*
            /// A variant that this version does not know.
            #[default]
            Unknown,
        }

        impl Described for $name {
            const FIELDS: &'static [FieldInfo] =
                &[$(FieldInfo { name: $proto, json: $json, presence: "presence" },)*];
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(None)?;
                match self {
                    $(Self::$variant(value) => map.serialize_entry($json, value)?,)*
                    Self::Unknown => {}
                }
                map.end()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct OneVisitor;
                impl<'de> de::Visitor<'de> for OneVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }
                    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut found = $name::Unknown;
                        while let Some(key) = map.next_key::<Key<'de>>()? {
                            let next = match &*key.0 {
                                $(key if key == $proto || key == $json => {
                                    map.next_value::<Option<In<$type>>>()?.map(|it| $name::$variant(it.0))
                                })*
                                _ => {
                                    map.next_value::<de::IgnoredAny>()?;
                                    None
                                }
                            };
                            match next {
                                Some(_) if found != $name::Unknown => {
                                    return Err(de::Error::custom(concat!("more than one kind of ", stringify!($name), " is set")));
                                }
                                Some(next) => found = next,
                                None => {}
                            }
                        }
                        Ok(found)
                    }
                }
                from.deserialize_map(OneVisitor)
            }
        }

        field_by_serde!($name);
    };
}

json_oneof! {
    /// A method of authentication (section 4.5.2).
    pub enum SecurityScheme {
        /// A key in a header, the query or a cookie.
        ApiKey(APIKeySecurityScheme) = "api_key_security_scheme" "apiKeySecurityScheme",
        /// An HTTP authentication scheme.
        HttpAuth(HTTPAuthSecurityScheme) = "http_auth_security_scheme" "httpAuthSecurityScheme",
        /// OAuth 2.0.
        OAuth2(OAuth2SecurityScheme) = "oauth2_security_scheme" "oauth2SecurityScheme",
        /// OpenID Connect.
        OpenIdConnect(OpenIdConnectSecurityScheme) = "open_id_connect_security_scheme" "openIdConnectSecurityScheme",
        /// A client certificate.
        MutualTls(MutualTlsSecurityScheme) = "mtls_security_scheme" "mtlsSecurityScheme",
    }
}

json_object! {
    /// A key that the caller sends with each request (section 4.5.3).
    pub struct APIKeySecurityScheme {
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
        /// `header`, `query` or `cookie`.
        pub location: String => required "location" | "in",
        /// The name of the header, parameter or cookie.
        pub name: String => required "name",
    }
}

json_object! {
    /// An HTTP authentication scheme (section 4.5.4).
    pub struct HTTPAuthSecurityScheme {
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
        /// The registered name of the scheme, for example `Bearer`.
        pub scheme: String => required "scheme",
        /// The format of a bearer token, for example `JWT`.
        pub bearer_format: Option<Box<str>> => implicit "bearerFormat" | "bearer_format",
    }
}

json_object! {
    /// OAuth 2.0 (section 4.5.5).
    pub struct OAuth2SecurityScheme {
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
        /// The flow.
        pub flows: OAuthFlows => required "flows",
        /// The URL of the authorization server's metadata (RFC 8414).
        pub oauth2_metadata_url: Option<Box<str>> => implicit "oauth2MetadataUrl" | "oauth2_metadata_url",
    }
}

json_object! {
    /// OpenID Connect (section 4.5.6).
    pub struct OpenIdConnectSecurityScheme {
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
        /// The URL of the discovery document.
        pub open_id_connect_url: String => required "openIdConnectUrl" | "open_id_connect_url",
    }
}

json_object! {
    /// A client certificate (section 4.5.7).
    pub struct MutualTlsSecurityScheme {
        /// A description for people.
        pub description: Option<Box<str>> => implicit "description",
    }
}

json_oneof! {
    /// The flow to obtain a token (section 4.5.8).
    pub enum OAuthFlows {
        /// The authorization code flow.
        AuthorizationCode(AuthorizationCodeOAuthFlow) = "authorization_code" "authorizationCode",
        /// The client credentials flow.
        ClientCredentials(ClientCredentialsOAuthFlow) = "client_credentials" "clientCredentials",
        /// The implicit flow; deprecated.
        Implicit(ImplicitOAuthFlow) = "implicit" "implicit",
        /// The password flow; deprecated.
        Password(PasswordOAuthFlow) = "password" "password",
        /// The device code flow (RFC 8628).
        DeviceCode(DeviceCodeOAuthFlow) = "device_code" "deviceCode",
    }
}

json_object! {
    /// The authorization code flow (section 4.5.9).
    pub struct AuthorizationCodeOAuthFlow {
        /// The URL at which a person consents.
        pub authorization_url: String => required "authorizationUrl" | "authorization_url",
        /// The URL that exchanges a code for a token.
        pub token_url: String => required "tokenUrl" | "token_url",
        /// The URL that refreshes a token.
        pub refresh_url: Option<Box<str>> => implicit "refreshUrl" | "refresh_url",
        /// Scopes with their descriptions.
        pub scopes: BTreeMap<String, String> => required "scopes",
        /// Whether PKCE is required (RFC 7636).
        pub pkce_required: bool => implicit "pkceRequired" | "pkce_required",
    }
}

json_object! {
    /// The client credentials flow (section 4.5.10).
    pub struct ClientCredentialsOAuthFlow {
        /// The URL that issues tokens.
        pub token_url: String => required "tokenUrl" | "token_url",
        /// The URL that refreshes a token.
        pub refresh_url: Option<Box<str>> => implicit "refreshUrl" | "refresh_url",
        /// Scopes and what they allow.
        pub scopes: BTreeMap<String, String> => required "scopes",
    }
}

json_object! {
    /// The implicit flow; deprecated by OAuth 2.1.
    pub struct ImplicitOAuthFlow {
        /// Where a person consents.
        pub authorization_url: Option<Box<str>> => implicit "authorizationUrl" | "authorization_url",
        /// Where a token is refreshed.
        pub refresh_url: Option<Box<str>> => implicit "refreshUrl" | "refresh_url",
        /// Scopes and what they allow.
        pub scopes: BTreeMap<String, String> => implicit "scopes",
    }
}

json_object! {
    /// The password flow; deprecated by OAuth 2.1.
    pub struct PasswordOAuthFlow {
        /// The URL that issues tokens.
        pub token_url: Option<Box<str>> => implicit "tokenUrl" | "token_url",
        /// The URL that refreshes a token.
        pub refresh_url: Option<Box<str>> => implicit "refreshUrl" | "refresh_url",
        /// Scopes with their descriptions.
        pub scopes: BTreeMap<String, String> => implicit "scopes",
    }
}

json_object! {
    /// The device code flow (RFC 8628).
    pub struct DeviceCodeOAuthFlow {
        /// The URL that issues device codes.
        pub device_authorization_url: String => required "deviceAuthorizationUrl" | "device_authorization_url",
        /// The URL that issues tokens.
        pub token_url: String => required "tokenUrl" | "token_url",
        /// The URL that refreshes a token.
        pub refresh_url: Option<Box<str>> => implicit "refreshUrl" | "refresh_url",
        /// Scopes with their descriptions.
        pub scopes: BTreeMap<String, String> => required "scopes",
    }
}
