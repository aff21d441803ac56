//! Reading the values of flags.

use std::time::Duration;

use nuncio_client::FileBytes;
use nuncio_model::{Struct, Value};

/// `30s`, `1m30s`, `250ms`, `30d`, or a number of seconds. A day has 24 hours, a year 365 days.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration such as 30s, 1m30s, 250ms or 30d");
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let parsed: jiff::Span = text.trim().parse().map_err(|_| wrong())?;
    let years = jiff::Span::new().try_days(365 * i64::from(parsed.get_years())).map_err(|_| wrong())?;
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    let whole = parsed.try_years(0).and_then(|rest| Ok((rest.to_duration(days)?, years.to_duration(days)?)));
    let (rest, years) = whole.map_err(|_| wrong())?;
    Duration::try_from(rest + years).map_err(|_| wrong())
}

/// A secret for a header. Errors do not show the value.
pub(crate) fn secret(text: &str) -> Result<String, String> {
    if text.chars().any(|letter| letter.is_control() && letter != '\t') {
        return Err("it has a line break or another character that no header can have".to_owned());
    }
    Ok(text.to_owned())
}

/// `name:value` or `name=value`, cut at whichever comes first. The value may be a secret, and all of what has no name.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.find([':', '=']) {
        None => Err("NAME:VALUE is wanted, and it has no colon".to_owned()),
        Some(0) => Err("NAME:VALUE is wanted, and it has no name before the colon".to_owned()),
        Some(at) => {
            let name = text[..at].trim();
            // The text is not shown: the part before the mark may belong to a secret.
            if !name.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter)) {
                return Err(
                    "NAME:VALUE is wanted, and no header has such a name: letters, digits and hyphens".to_owned()
                );
            }
            Ok((name.to_owned(), secret(text[at + 1..].trim())?))
        }
    }
}

/// `true` and `false`, as people write them.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// How many messages of history.
pub(crate) fn history_length(text: &str) -> Result<i32, String> {
    let length = text.trim().parse().ok().filter(|length| *length >= 0);
    length.ok_or_else(|| format!("`{text}` is not a number of messages, 0 or more"))
}

/// How the bytes of files are sent: `raw` or `base64`.
pub(crate) fn file_bytes(text: &str) -> Result<FileBytes, String> {
    text.parse().map_err(|error| format!("`{text}` is {error}"))
}

/// A JSON object.
pub(crate) fn metadata(text: &str) -> Result<Struct, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("it must be a JSON object such as {\"key\":\"value\"}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_or_are_seconds() {
        for (text, millis) in [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("250ms", 250),
            ("2", 2_000),
            ("0.5", 500),
            ("1h", 3_600_000),
            ("30d", 2_592_000_000),
            ("1w", 604_800_000),
            ("1d12h", 129_600_000),
            ("2y", 63_072_000_000),
        ] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for text in ["", "soon", "-1s", "-1", "1x", "-1d", "1mo"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_parameter_is_cut_at_the_first_mark() {
        assert_eq!(key_value("X-A: b=c").unwrap(), ("X-A".into(), "b=c".into()));
        assert_eq!(key_value("k=v:w").unwrap(), ("k".into(), "v:w".into()));
        assert!(key_value("nothing").is_err() && key_value(":x").is_err());
        assert!(key_value("a b:x").unwrap_err().contains("no header has such a name"));
    }
}
