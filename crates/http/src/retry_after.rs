//! The header `Retry-After` (RFC 9110, section 10.2.3).

use std::time::Duration;

use http::{HeaderMap, header};

/// The delay that the peer asks for, in seconds. A date is ignored: callers wait with a backoff of their own anyway.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_dates_are_ignored() {
        for (value, expected) in [(" 90 ", Some(90)), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("", None)]
        {
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, value.parse().unwrap())]);
            assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
