//! Cards of the versions before 1.0: the names and types of the members, and which are required.
//!
//! 0.2 and 0.3 have one table: 0.3 added optional members, and made `protocolVersion` required.

use nuncio_model::{Struct, Value};

use super::{Findings, at};

/// A version before 1.0, as far as its cards differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Older {
    V0_1,
    V0_2,
    V0_3,
}

/// A member of a message.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    kind: MemberKind,
}

/// What a member holds.
enum MemberKind {
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Flag,
    Texts,
    /// Texts by names.
    TextsByName,
    /// Any object.
    Object,
    Message(&'static [Field]),
    Messages(&'static [Field]),
    /// Schemes by names; `type` says which fields a scheme has.
    Schemes,
    /// Objects of lists of scopes.
    Requirements,
}

const fn must(name: &'static str, kind: MemberKind) -> Field {
    Field { name, is_required: true, kind }
}

const fn may(name: &'static str, kind: MemberKind) -> Field {
    Field { name, is_required: false, kind }
}

use MemberKind::{Flag, Message, Messages, Object, OneOf, Requirements, Schemes, Text, Texts, TextsByName};

static CARD: [Field; 18] = [
    must("protocolVersion", Text),
    must("name", Text),
    must("description", Text),
    must("url", Text),
    must("version", Text),
    must("capabilities", Message(&CAPABILITIES)),
    must("defaultInputModes", Texts),
    must("defaultOutputModes", Texts),
    must("skills", Messages(&SKILL)),
    may("preferredTransport", Text),
    may("additionalInterfaces", Messages(&INTERFACE)),
    may("provider", Message(&PROVIDER)),
    may("iconUrl", Text),
    may("documentationUrl", Text),
    may("security", Requirements),
    may("securitySchemes", Schemes),
    may("signatures", Messages(&SIGNATURE)),
    may("supportsAuthenticatedExtendedCard", Flag),
];

static INTERFACE: [Field; 2] = [must("url", Text), must("transport", Text)];
static PROVIDER: [Field; 2] = [must("organization", Text), must("url", Text)];
static CAPABILITIES: [Field; 4] = [
    may("streaming", Flag),
    may("pushNotifications", Flag),
    may("stateTransitionHistory", Flag),
    may("extensions", Messages(&EXTENSION)),
];
static EXTENSION: [Field; 4] =
    [must("uri", Text), may("description", Text), may("required", Flag), may("params", Object)];
static SKILL: [Field; 8] = [
    must("id", Text),
    must("name", Text),
    must("description", Text),
    must("tags", Texts),
    may("examples", Texts),
    may("inputModes", Texts),
    may("outputModes", Texts),
    may("security", Requirements),
];
static SIGNATURE: [Field; 3] = [must("protected", Text), must("signature", Text), may("header", Object)];

/// The kinds of schemes, with their fields beside `type` and `description`.
static SCHEMES: [(&str, &[Field]); 5] = [
    ("apiKey", &API_KEY),
    ("http", &HTTP),
    ("oauth2", &OAUTH2),
    ("openIdConnect", &OPEN_ID_CONNECT),
    ("mutualTLS", &[]),
];
static API_KEY: [Field; 2] = [must("name", Text), must("in", OneOf(&["cookie", "header", "query"]))];
static HTTP: [Field; 2] = [must("scheme", Text), may("bearerFormat", Text)];
static OAUTH2: [Field; 2] = [must("flows", Message(&FLOWS)), may("oauth2MetadataUrl", Text)];
static OPEN_ID_CONNECT: [Field; 1] = [must("openIdConnectUrl", Text)];
static FLOWS: [Field; 4] = [
    may("authorizationCode", Message(&AUTHORIZATION_CODE)),
    may("clientCredentials", Message(&TOKEN_FLOW)),
    may("implicit", Message(&IMPLICIT)),
    may("password", Message(&TOKEN_FLOW)),
];
static AUTHORIZATION_CODE: [Field; 4] =
    [must("authorizationUrl", Text), must("tokenUrl", Text), must("scopes", TextsByName), may("refreshUrl", Text)];
static TOKEN_FLOW: [Field; 3] = [must("tokenUrl", Text), must("scopes", TextsByName), may("refreshUrl", Text)];
static IMPLICIT: [Field; 3] = [must("authorizationUrl", Text), must("scopes", TextsByName), may("refreshUrl", Text)];

static CARD_0_1: [Field; 11] = [
    must("name", Text),
    must("url", Text),
    must("version", Text),
    must("capabilities", Message(&CAPABILITIES_0_1)),
    must("skills", Messages(&SKILL_0_1)),
    may("description", Text),
    may("provider", Message(&PROVIDER_0_1)),
    may("documentationUrl", Text),
    may("authentication", Message(&AUTHENTICATION)),
    may("defaultInputModes", Texts),
    may("defaultOutputModes", Texts),
];
static CAPABILITIES_0_1: [Field; 3] =
    [may("streaming", Flag), may("pushNotifications", Flag), may("stateTransitionHistory", Flag)];
static PROVIDER_0_1: [Field; 2] = [must("organization", Text), may("url", Text)];
static AUTHENTICATION: [Field; 2] = [must("schemes", Texts), may("credentials", Text)];
static SKILL_0_1: [Field; 7] = [
    must("id", Text),
    must("name", Text),
    may("description", Text),
    may("tags", Texts),
    may("examples", Texts),
    may("inputModes", Texts),
    may("outputModes", Texts),
];

impl Older {
    /// The version before 1.0 that a card declares.
    pub(super) fn declared(version: &str) -> Option<Self> {
        let mut numbers = version.trim().split('.');
        match (numbers.next()?, numbers.next()?) {
            ("0", "1") => Some(Self::V0_1),
            ("0", "2") => Some(Self::V0_2),
            ("0", "3") => Some(Self::V0_3),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
        }
    }

    pub(super) const fn card(self) -> &'static [Field] {
        match self {
            Self::V0_1 => &CARD_0_1,
            Self::V0_2 | Self::V0_3 => &CARD,
        }
    }

    /// Whether a member is required. `protocolVersion` came within 0.2.
    fn requires(self, field: &Field) -> bool {
        field.is_required && (self == Self::V0_3 || field.name != "protocolVersion")
    }
}

/// Whether a version before 1.0 knows a member of the message at this path.
pub(super) fn knows(path: &str, name: &str) -> bool {
    let has = |fields: &[Field]| fields.iter().any(|field| field.name == name);
    match path.split(['.', '[']).next().unwrap_or_default() {
        "" => has(&CARD) || has(&CARD_0_1),
        "capabilities" => has(&CAPABILITIES),
        "skills" => has(&SKILL),
        // The name of a scheme can have dots.
        "securitySchemes" => matches!(name, "type" | "description") || SCHEMES.iter().any(|(_, fields)| has(fields)),
        // A draft of 1.0 called the binding so.
        "supportedInterfaces" => name == "transport",
        _ => false,
    }
}

impl Findings {
    /// Checks a card of a version before 1.0.
    pub(super) fn older(&mut self, card: &Struct, version: Older) {
        self.fields("", card, version.card(), version);
    }

    fn fields(&mut self, path: &str, members: &Struct, fields: &[Field], version: Older) {
        for field in fields {
            let place = at(path, field.name);
            match members.get(field.name) {
                None | Some(Value::Null) if version.requires(field) => {
                    self.mistakes.push(format!("{place} is missing"));
                }
                None | Some(Value::Null) => {}
                Some(value) => self.value(&place, value, field, version),
            }
        }
        for name in members.keys() {
            let is_known = fields.iter().any(|field| field.name == name) || knows(path, name);
            // A card for readers of several versions has members of all.
            if !is_known && !super::shape::knows(path, name) {
                self.remarks.push(format!("{} is not a member that the specification knows", at(path, name)));
            }
        }
    }

    fn value(&mut self, place: &str, value: &Value, field: &Field, version: Older) {
        let wanted = match (&field.kind, value) {
            (Text, Value::String(text)) => {
                if text.is_empty() && version.requires(field) && field.name != "description" {
                    self.mistakes.push(format!("{place} is empty"));
                }
                return;
            }
            (OneOf(texts), Value::String(text)) if texts.contains(&text.as_str()) => return,
            (Flag, Value::Bool(_)) | (Object, Value::Object(_)) => return,
            (Texts, Value::Array(items)) if items.iter().all(Value::is_string) => return,
            (TextsByName, Value::Object(members)) if members.values().all(Value::is_string) => return,
            (Message(fields), Value::Object(members)) => return self.fields(place, members, fields, version),
            (Messages(fields), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let place = format!("{place}[{index}]");
                    match item.as_object() {
                        Some(members) => self.fields(&place, members, fields, version),
                        None => self.mistakes.push(format!("{place} is not an object")),
                    }
                }
                return;
            }
            (Schemes, Value::Object(schemes)) => {
                return schemes.iter().for_each(|(name, scheme)| self.scheme(&at(place, name), scheme, version));
            }
            (Requirements, Value::Array(items)) => {
                let is_scopes = |it: &Value| it.as_array().is_some_and(|it| it.iter().all(Value::is_string));
                for (index, item) in items.iter().enumerate() {
                    if !item.as_object().is_some_and(|it| it.values().all(is_scopes)) {
                        self.mistakes.push(format!("{place}[{index}] is not an object of lists of scopes"));
                    }
                }
                return;
            }
            (OneOf(texts), _) => &format!("one of {}", texts.join(", ")),
            (Text, _) => "a text",
            (Flag, _) => "true or false",
            (Object | Message(_) | Schemes, _) => "an object",
            (Texts, _) => "a list of texts",
            (TextsByName, _) => "an object of texts",
            (Messages(_) | Requirements, _) => "a list of objects",
        };
        self.mistakes.push(format!("{place} is not {wanted}"));
    }

    fn scheme(&mut self, place: &str, scheme: &Value, version: Older) {
        let Some(members) = scheme.as_object() else {
            return self.mistakes.push(format!("{place} is not an object"));
        };
        let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
        match SCHEMES.iter().find(|(name, _)| *name == kind) {
            Some((_, fields)) => self.fields(place, members, fields, version),
            None if kind.is_empty() => self.mistakes.push(format!("{place}.type is missing")),
            None => {
                let kinds: Vec<_> = SCHEMES.iter().map(|(name, _)| *name).collect();
                self.mistakes.push(format!("{place}.type is none of {}", kinds.join(", ")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../../spec/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// The messages of a table, with their names in the specification.
    fn messages(fields: &'static [Field], name: &str, all: &mut Vec<(String, &'static [Field])>) {
        all.push((name.to_owned(), fields));
        for field in fields {
            match (&field.kind, field.name) {
                (Message(inner), "provider") => messages(inner, "AgentProvider", all),
                (Message(inner), "capabilities") => messages(inner, "AgentCapabilities", all),
                (Message(inner), "authentication") => messages(inner, "AgentAuthentication", all),
                (Messages(inner), "additionalInterfaces") => messages(inner, "AgentInterface", all),
                (Messages(inner), "extensions") => messages(inner, "AgentExtension", all),
                (Messages(inner), "skills") => messages(inner, "AgentSkill", all),
                (Messages(inner), "signatures") => messages(inner, "AgentCardSignature", all),
                _ => {}
            }
        }
    }

    #[test]
    fn tables_have_the_members_of_the_specification() {
        let facts: Value = serde_json::from_str(&spec("v0.3/messages.json")).unwrap();
        let mut all = Vec::new();
        messages(&CARD, "AgentCard", &mut all);
        all.extend([
            ("APIKeySecurityScheme".to_owned(), &API_KEY[..]),
            ("HTTPAuthSecurityScheme".to_owned(), &HTTP),
            ("OAuth2SecurityScheme".to_owned(), &OAUTH2),
            ("OpenIdConnectSecurityScheme".to_owned(), &OPEN_ID_CONNECT),
            ("OAuthFlows".to_owned(), &FLOWS),
            ("AuthorizationCodeOAuthFlow".to_owned(), &AUTHORIZATION_CODE),
            ("ClientCredentialsOAuthFlow".to_owned(), &TOKEN_FLOW),
            ("PasswordOAuthFlow".to_owned(), &TOKEN_FLOW),
            ("ImplicitOAuthFlow".to_owned(), &IMPLICIT),
        ]);
        for (name, fields) in all {
            let is_scheme = name.ends_with("SecurityScheme");
            let mut wanted: Vec<_> = facts["json_types"][&name]["fields"]
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| !(is_scheme && matches!(name.as_str(), "type" | "description")))
                .map(|(name, field)| (name.as_str(), field["required"] == true))
                .collect();
            let mut had: Vec<_> = fields.iter().map(|field| (field.name, field.is_required)).collect();
            wanted.sort_unstable();
            had.sort_unstable();
            assert_eq!(had, wanted, "{name}");
        }
    }

    #[test]
    fn tables_of_0_1_have_the_members_of_the_specification() {
        let facts = spec("v0.1/messages.md");
        let mut all = Vec::new();
        messages(&CARD_0_1, "AgentCard", &mut all);
        assert_eq!(all.len(), 5);
        for (name, fields) in all {
            let table = facts.split(&format!("#### {name}\n")).nth(1).unwrap();
            let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
            let rows = rows.take_while(|line| line.starts_with('|')).map(|row| {
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                (cells[1].trim_matches('`'), cells[3] == "yes")
            });
            let mut wanted: Vec<_> = rows.collect();
            let mut had: Vec<_> = fields.iter().map(|field| (field.name, field.is_required)).collect();
            wanted.sort_unstable();
            had.sort_unstable();
            assert_eq!(had, wanted, "{name}");
        }
    }
}
