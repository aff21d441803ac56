//! Removes secrets from texts that people read: logs, errors, diagnostics.

use http::{HeaderMap, header};
use nuncio_model::Value;

const MASK: &str = "***";

/// Members of JSON that contain secrets, in any case.
const SECRET_MEMBERS: [&str; 9] = [
    "token",
    "credentials",
    "password",
    "apikey",
    "api_key",
    "accesstoken",
    "access_token",
    "clientsecret",
    "client_secret",
];

/// Knows the secrets of a client by their values, and masks them in any text. The `Debug` form shows no secret.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// A redactor for these secrets.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut redactor = Self::default();
        secrets.into_iter().for_each(|secret| redactor.add(secret));
        redactor
    }

    /// Adds a secret. A text of less than four characters is ignored, as masking would make other texts unreadable.
    pub fn add(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        if secret.chars().count() < 4 {
            return;
        }
        let encoded = percent_encoding::utf8_percent_encode(&secret, percent_encoding::NON_ALPHANUMERIC).to_string();
        for form in [secret, encoded] {
            if !self.secrets.contains(&form) {
                self.secrets.push(form);
            }
        }
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// The text without the secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        text
    }

    /// A body. Members that contain secrets by their names are masked, also if the secret is not known.
    pub fn body(&self, body: &[u8]) -> String {
        match serde_json::from_slice::<Value>(body) {
            Ok(mut value) => {
                mask(&mut value);
                self.text(&value.to_string())
            }
            Err(_) => self.text(&String::from_utf8_lossy(body)),
        }
    }

    /// Headers, one per line. Headers with credentials are masked.
    pub fn headers(&self, headers: &HeaderMap) -> String {
        let line = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
            let is_secret = value.is_sensitive() || is_secret_header(name.as_str());
            let value = if is_secret { MASK.to_owned() } else { self.text(&String::from_utf8_lossy(value.as_bytes())) };
            format!("{name}: {value}")
        };
        headers.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish()
    }
}

/// Whether a header carries credentials, by its name.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "authorization" | "proxy-authorization" | "cookie" | "set-cookie" | "x-api-key")
        || ["token", "secret", "api-key", "apikey", "password"].iter().any(|part| name.contains(part))
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_secret = SECRET_MEMBERS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
                match member {
                    Value::String(text) if is_secret && !text.is_empty() => MASK.clone_into(text),
                    member => mask(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_wherever_it_is_and_however_it_is_encoded() {
        let redactor = Redactor::new(["s3cret/x".to_owned()]);
        assert_eq!(redactor.text("a s3cret/x b ?key=s3cret%2Fx"), "a *** b ?key=***");
        assert_eq!(redactor.body(b"not json s3cret/x"), "not json ***");
        assert!(!format!("{redactor:?}").contains("s3cret"));
    }

    #[test]
    fn members_that_hold_secrets_are_masked_unseen() {
        let body = br#"{"params":{"url":"u","token":"abc","authentication":{"scheme":"Bearer","credentials":"d"}}}"#;
        let shown = Redactor::default().body(body);
        assert!(!shown.contains("abc") && !shown.contains("\"d\""), "{shown}");
        assert!(shown.contains("\"url\":\"u\""));
    }

    #[test]
    fn headers_with_credentials_are_masked_by_name() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer abc".parse().unwrap());
        headers.insert("x-my-token", "abc".parse().unwrap());
        headers.insert("a2a-version", "1.0".parse().unwrap());
        assert_eq!(Redactor::default().headers(&headers), "authorization: ***\nx-my-token: ***\na2a-version: 1.0");
    }
}
