//! Checks the headers that a client can set for a webhook (section 13.2, Push Notification Security).

use http::{HeaderName, HeaderValue};
use nuncio_model::{Error, FieldViolation, TaskPushNotificationConfig};

/// Refuses values that are not valid in a header, such as line breaks.
pub(super) fn check(config: &TaskPushNotificationConfig) -> Result<(), Error> {
    let mut violations = Vec::new();
    let mut check = |field: &str, value: Option<&str>, is_fine: fn(&str) -> bool| {
        if value.is_some_and(|value| !is_fine(value)) {
            let description = "has characters that an HTTP header cannot carry".to_owned();
            violations.push(FieldViolation { field: field.to_owned(), description });
        }
    };
    check("token", config.token.as_deref(), is_value);
    if let Some(authentication) = &config.authentication {
        check("authentication.scheme", Some(&authentication.scheme), is_scheme);
        check("authentication.credentials", authentication.credentials.as_deref(), is_value);
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::violations(violations)) }
}

fn is_value(text: &str) -> bool {
    HeaderValue::from_str(text).is_ok()
}

/// A scheme is a token (RFC 9110, section 11.1), as names of headers are; an empty one is none.
fn is_scheme(text: &str) -> bool {
    text.is_empty() || HeaderName::from_bytes(text.as_bytes()).is_ok()
}
