//! Reading the values of settings.

use std::ops::Range;

/// `true` and `false`, as people write them.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// Bytes, as `16M`, `64KiB` or a plain number.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size such as 16M, 64K or 1048576");
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = text[..digits].parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A whole number.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.trim().replace('_', "").parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// The parts of an address that are secret: the password, or all that is before the host where that is a token; and the
/// passwords among its parameters.
pub(super) fn secrets(address: &str) -> Vec<&str> {
    secret_ranges(address).into_iter().map(|range| &address[range]).collect()
}

/// An address as it may be shown.
pub(super) fn without_secrets(address: &str) -> String {
    let mut shown = address.to_owned();
    for range in secret_ranges(address).into_iter().rev() {
        shown.replace_range(range, "***");
    }
    shown
}

/// Where the secrets of an address stand, first to last.
fn secret_ranges(address: &str) -> Vec<Range<usize>> {
    let Some(start) = address.find("://").map(|scheme| scheme + 3) else { return Vec::new() };
    let end = address[start..].find('?').map_or(address.len(), |query| start + query);
    let login = address[start..end].rfind('@').and_then(|at| match address[start..start + at].find(':') {
        Some(colon) => Some(start + colon + 1..start + at),
        // A name alone is that of a user.
        None if address.starts_with("postgres") => None,
        None => Some(start..start + at),
    });
    let mut ranges: Vec<_> = login.into_iter().collect();
    let mut place = end + 1;
    for pair in address.get(place..).unwrap_or_default().split('&') {
        if let Some((name, _)) = pair.split_once('=')
            && is_secret(name)
        {
            ranges.push(place + name.len() + 1..place + pair.len());
        }
        place += pair.len() + 1;
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Whether a parameter is a password, or may be one: its name is written in escapes.
fn is_secret(name: &str) -> bool {
    name.contains('%') || name.to_ascii_lowercase().contains("password")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (address, shown) in [
            ("nats://ann:s3cret@host/x", "nats://ann:***@host/x"),
            ("nats://t0ken@a,b", "nats://***@a,b"),
            ("postgres://ann:p@ss/w@host/d?schema=a@b", "postgres://ann:***@host/d?schema=a@b"),
            ("postgres://host/d", "postgres://host/d"),
            ("postgresql://ann@host/d", "postgresql://ann@host/d"),
            ("sqlite:./a@b.db", "sqlite:./a@b.db"),
            ("memory", "memory"),
            ("postgres://h/d?user=a&password=s3cret&schema=x", "postgres://h/d?user=a&password=***&schema=x"),
            ("postgres://a:a@h/d?sslpassword=s3cret", "postgres://a:***@h/d?sslpassword=***"),
            ("postgres://h/d?pass%77ord=s3cret", "postgres://h/d?pass%77ord=***"),
            ("postgres://h?password=a@b", "postgres://h?password=***"),
            ("postgres://h/d?password=", "postgres://h/d?password="),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("16M", 16 << 20), ("64KiB", 64 << 10), ("1g", 1 << 30), ("123", 123), ("2 MB", 2 << 20)]
        {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "M", "1X", "1.5M", "-1", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
