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

    /// The moment so many milliseconds after 1970; `None` outside the years 1 to 9999, as protobuf has it.
    pub fn from_millisecond(millisecond: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millisecond).ok().and_then(Self::within)
    }

    /// Milliseconds since 1970, rounded towards it.
    pub fn as_millisecond(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The moment so many seconds and nanoseconds after 1970, as protobuf carries it; `None` outside its years.
    pub fn from_parts(seconds: i64, nanoseconds: i32) -> Option<Self> {
        jiff::Timestamp::new(seconds, nanoseconds).ok().and_then(Self::within)
    }

    fn within(at: jiff::Timestamp) -> Option<Self> {
        const YEAR_1: i128 = -62_135_596_800_000_000_000;
        (at.as_nanosecond() >= YEAR_1).then_some(Self(at))
    }

    /// Seconds since 1970 and the nanoseconds after them, never negative, as protobuf wants them.
    pub fn into_parts(self) -> (i64, i32) {
        let (second, nanosecond) = (self.0.as_second(), self.0.subsec_nanosecond());
        if nanosecond < 0 { (second - 1, nanosecond + 1_000_000_000) } else { (second, nanosecond) }
    }
}

impl Timestamp {
    /// Writes the text into `to` and gives it back. By hand, since every event carries a time.
    #[expect(clippy::cast_sign_loss, reason = "no part of a time is negative, for the years begin with 1")]
    fn write(self, to: &mut [u8; 30]) -> &str {
        let at = TimeZone::UTC.to_datetime(self.0);
        *to = *b"0000-00-00T00:00:00.000000000Z";
        digits(&mut to[..4], at.year() as u32);
        digits(&mut to[5..7], at.month() as u32);
        digits(&mut to[8..10], at.day() as u32);
        digits(&mut to[11..13], at.hour() as u32);
        digits(&mut to[14..16], at.minute() as u32);
        digits(&mut to[17..19], at.second() as u32);
        let nanosecond = at.subsec_nanosecond() as u32;
        digits(&mut to[20..29], nanosecond);
        let length = match nanosecond {
            0 => 19,
            nanos if nanos % 1_000_000 == 0 => 23,
            nanos if nanos % 1_000 == 0 => 26,
            _ => 29,
        };
        to[length] = b'Z';
        std::str::from_utf8(&to[..=length]).unwrap_or_default()
    }
}

/// Fills `to` with the last digits of a number.
fn digits(to: &mut [u8], mut number: u32) {
    for digit in to.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write(&mut [0; 30]))
    }
}

impl FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .and_then(Self::within)
            .ok_or_else(|| format!("`{text}` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.write(&mut [0; 30]))
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
    fn years_are_those_that_can_be_written() {
        for text in ["0000-12-31T23:59:59Z", "-000001-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        let first = "0001-01-01T00:00:00Z";
        assert_eq!(first.parse::<Timestamp>().unwrap().to_string(), first);
        assert_eq!(Timestamp::from_parts(i64::MIN, 0), None);
        assert_eq!(Timestamp::from_millisecond(-62_135_596_800_001).map(|at| at.to_string()), None);
    }

    #[test]
    fn protobuf_nanoseconds_are_never_negative() {
        let before = "1969-12-31T23:59:59.500Z".parse::<Timestamp>().unwrap();
        assert_eq!(before.into_parts(), (-1, 500_000_000));
        assert_eq!(Timestamp::from_parts(-1, 500_000_000), Some(before));
    }
}
