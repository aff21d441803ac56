//! Moments in time, as the protocol writes them (section 5.6.1).

use std::{fmt, str::FromStr};

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::json::Field;

/// A moment in UTC, with nanoseconds; `google.protobuf.Timestamp`.
///
/// Written as RFC 3339 with `Z` and 0, 3, 6 or 9 digits of a second; read with any offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The present moment, cut to the millisecond as section 5.6.1 recommends.
    pub fn now() -> Self {
        let now = jiff::Timestamp::now().as_millisecond();
        Self::from_millisecond(now).unwrap_or_default()
    }

    /// The moment so many milliseconds after 1970; `None` outside the years that RFC 3339 can write.
    pub fn from_millisecond(millisecond: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millisecond).ok().map(Self)
    }

    /// Milliseconds since 1970, rounded towards it.
    pub fn as_millisecond(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The moment so many seconds and nanoseconds after 1970, as protobuf carries it.
    pub fn from_parts(seconds: i64, nanoseconds: i32) -> Option<Self> {
        jiff::Timestamp::new(seconds, nanoseconds).ok().map(Self)
    }

    /// Seconds since 1970 and the nanoseconds after them, never negative, as protobuf wants them.
    pub fn into_parts(self) -> (i64, i32) {
        let (second, nanosecond) = (self.0.as_second(), self.0.subsec_nanosecond());
        if nanosecond < 0 { (second - 1, nanosecond + 1_000_000_000) } else { (second, nanosecond) }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = TimeZone::UTC.to_datetime(self.0);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )?;
        match at.subsec_nanosecond() {
            0 => {}
            nanos if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            nanos if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            nanos => write!(f, ".{nanos:09}")?,
        }
        f.write_str("Z")
    }
}

impl FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl de::Visitor<'_> for TimeVisitor {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_str(TimeVisitor)
    }
}

impl Field for Timestamp {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.serialize(to)
    }
    fn is_unset(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_with_the_digits_it_needs() {
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.120Z",
            "2026-01-31T12:00:00.000001Z",
            "2026-01-31T12:00:00.000000001Z",
            "1969-12-31T23:59:59.500Z",
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
        assert_eq!("2026-01-31T12:00:00.1+02:00".parse::<Timestamp>().unwrap().to_string(), "2026-01-31T10:00:00.100Z");
    }

    #[test]
    fn protobuf_nanoseconds_are_never_negative() {
        let before = "1969-12-31T23:59:59.500Z".parse::<Timestamp>().unwrap();
        assert_eq!(before.into_parts(), (-1, 500_000_000));
        assert_eq!(Timestamp::from_parts(-1, 500_000_000), Some(before));
    }
}
