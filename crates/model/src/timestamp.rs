//! Moments in time, in the form of the protocol (section 5.6.1).

use std::{fmt, str::FromStr};

use jiff::{civil, fmt::temporal::Pieces, tz::TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{json::Field, leniency::Leniency};

/// The first second of the year 1.
const FIRST: i64 = -62_135_596_800;

/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;

/// The calendar repeats after 400 years. The calendar library ends some hours before the protocol's last year does.
/// Dates are therefore looked up 400 years earlier.
const CYCLE_YEARS: i16 = 400;
const CYCLE: i64 = 146_097 * 86_400;

/// A moment in UTC, with nanoseconds, in the years 1 to 9999; `google.protobuf.Timestamp`.
///
/// The text form is RFC 3339 with `Z` and 0, 3, 6 or 9 digits of a second. [`FromStr`] requires an offset. JSON also
/// accepts a time without an offset, as a time in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Seconds since 1970.
    second: i64,
    /// Nanoseconds after the second; never negative.
    nanosecond: i32,
}

impl Timestamp {
    /// The current time, cut to the millisecond, as section 5.6.1 recommends.
    pub fn now() -> Self {
        let now = jiff::Timestamp::now().as_millisecond();
        Self::from_millisecond(now).unwrap_or_default()
    }

    /// The moment at this number of milliseconds after 1970; `None` outside the years 1 to 9999, the range of protobuf.
    pub fn from_millisecond(millisecond: i64) -> Option<Self> {
        let (second, rest) = (millisecond.div_euclid(1_000), millisecond.rem_euclid(1_000));
        Self::from_parts(second, i32::try_from(rest * 1_000_000).ok()?)
    }

    /// Milliseconds since 1970, rounded towards 1970.
    pub fn as_millisecond(self) -> i64 {
        let millisecond = self.second * 1_000 + i64::from(self.nanosecond / 1_000_000);
        millisecond + i64::from(millisecond < 0 && self.nanosecond % 1_000_000 != 0)
    }

    /// The moment at these seconds and nanoseconds after 1970, the form of protobuf. `None` outside the years 1 to
    /// 9999, or if the nanoseconds are negative or 1,000,000,000 or more.
    pub fn from_parts(second: i64, nanosecond: i32) -> Option<Self> {
        let is_within = (FIRST..=LAST).contains(&second) && (0..1_000_000_000).contains(&nanosecond);
        is_within.then_some(Self { second, nanosecond })
    }

    /// Seconds since 1970 and the nanoseconds after them, never negative, as protobuf requires.
    pub fn into_parts(self) -> (i64, i32) {
        (self.second, self.nanosecond)
    }

    /// Reads a time from a peer: RFC 3339, or without an offset a time in UTC ([`Leniency::TimeWithoutZone`]).
    ///
    /// # Errors
    ///
    /// The reason why the text is not a time.
    pub fn read(text: &str) -> Result<Self, String> {
        text.parse().or_else(|reason| {
            let time = format!("{text}Z").parse().map_err(|_: String| reason)?;
            Leniency::TimeWithoutZone.note();
            Ok(time)
        })
    }

    fn of(at: jiff::Timestamp) -> Option<Self> {
        let (second, nanosecond) = (at.as_second(), at.subsec_nanosecond());
        let carry = i32::from(nanosecond < 0);
        Self::from_parts(second - i64::from(carry), nanosecond + carry * 1_000_000_000)
    }

    /// Reads a moment in the last hours of the year 9999, which the calendar library does not support.
    fn of_last_hours(text: &str) -> Option<Self> {
        let pieces = Pieces::parse(text).ok()?;
        let (date, time, offset) = (pieces.date(), pieces.time()?, pieces.to_numeric_offset()?);
        let date = civil::Date::new(date.year() - CYCLE_YEARS, date.month(), date.day()).ok()?;
        let at = Self::of(offset.to_timestamp(date.to_datetime(time)).ok()?)?;
        Self::from_parts(at.second + CYCLE, at.nanosecond)
    }
}

impl Timestamp {
    /// Writes the text into `to` and returns it. A hand-written formatter, because every event carries a time.
    #[expect(clippy::cast_sign_loss, reason = "no part of a time is negative, for the years begin with 1")]
    fn write(self, to: &mut [u8; 30]) -> &str {
        let cycle_before = jiff::Timestamp::from_second(self.second - CYCLE).unwrap_or_default();
        let at = TimeZone::UTC.to_datetime(cycle_before);
        *to = *b"0000-00-00T00:00:00.000000000Z";
        digits(&mut to[..4], (at.year() + CYCLE_YEARS) as u32);
        digits(&mut to[5..7], at.month() as u32);
        digits(&mut to[8..10], at.day() as u32);
        digits(&mut to[11..13], at.hour() as u32);
        digits(&mut to[14..16], at.minute() as u32);
        digits(&mut to[17..19], at.second() as u32);
        let nanosecond = self.nanosecond as u32;
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

/// Fills `to` with the last decimal digits of a number.
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

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({self})")
    }
}

impl FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.parse().map_or_else(|_| Self::of_last_hours(text), Self::of);
        read.ok_or_else(|| format!("`{text}` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"))
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
                Timestamp::read(text).map_err(E::custom)
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
    fn timestamps_have_0_3_6_or_9_fraction_digits() {
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
    fn times_outside_of_the_years_1_to_9999_are_refused() {
        for text in ["0000-12-31T23:59:59Z", "-000001-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        let first = "0001-01-01T00:00:00Z";
        assert_eq!(first.parse::<Timestamp>().unwrap().to_string(), first);
        let last = "9999-12-31T23:59:59.999999999Z";
        assert_eq!(last.parse::<Timestamp>().unwrap().to_string(), last);
        assert_eq!(last.parse::<Timestamp>().unwrap().into_parts(), (LAST, 999_999_999));
        for text in ["9999-12-31T23:59:59.5-00:01", "9999-12-31T24:00:00Z", "9999-12-31T23:00:00", "9999-12-31", "9999"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        for (second, nanosecond) in
            [(i64::MIN, 0), (i64::MAX, 0), (FIRST - 1, 999_999_999), (LAST + 1, 0), (0, -1), (0, 1_000_000_000)]
        {
            assert_eq!(Timestamp::from_parts(second, nanosecond), None, "{second} {nanosecond}");
        }
        for millisecond in [i64::MIN, FIRST * 1_000 - 1, (LAST + 1) * 1_000, i64::MAX] {
            assert_eq!(Timestamp::from_millisecond(millisecond), None, "{millisecond}");
        }
        assert_eq!(Timestamp::from_millisecond(LAST * 1_000 + 999).unwrap().to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn milliseconds_are_rounded_towards_1970() {
        let milliseconds = |second, nanosecond| Timestamp::from_parts(second, nanosecond).unwrap().as_millisecond();
        assert_eq!(milliseconds(1, 1_999_999), 1_001);
        assert_eq!(milliseconds(-1, 0), -1_000);
        assert_eq!(milliseconds(-1, 1), -999);
        assert_eq!(milliseconds(-1, 999_999_999), 0);
        assert_eq!(milliseconds(-2, 500_000_001), -1_499);
    }

    #[test]
    fn protobuf_nanoseconds_are_never_negative() {
        let before = "1969-12-31T23:59:59.500Z".parse::<Timestamp>().unwrap();
        assert_eq!(before.into_parts(), (-1, 500_000_000));
        assert_eq!(Timestamp::from_parts(-1, 500_000_000), Some(before));
    }

    proptest::proptest! {
        #[test]
        fn the_whole_range_is_written_and_read(
            second in proptest::prop_oneof![FIRST..=LAST, FIRST..FIRST + 100_000, LAST - 100_000..=LAST, -100_000..100_000_i64],
            nanosecond in proptest::prop_oneof![0..1_000_000_000, proptest::strategy::Just(999_999_999)],
            offset in -1_439..=1_439_i64,
        ) {
            let at = Timestamp::from_parts(second, nanosecond).unwrap();
            let text = at.to_string();
            proptest::prop_assert_eq!(text.parse(), Ok(at));
            proptest::prop_assert!(text.ends_with('Z') && text.len() <= 30 && text.as_bytes()[4] == b'-');
            // The same moment with an offset, if the local year has four digits.
            if let Some(there) = Timestamp::from_parts(second + offset * 60, nanosecond) {
                let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs());
                let there = there.to_string().replace('Z', &format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
                proptest::prop_assert_eq!(there.parse(), Ok(at), "{}", there);
            }
            // Compare with the calendar library inside its range.
            if let Ok(known) = jiff::Timestamp::new(second, nanosecond) {
                proptest::prop_assert_eq!(known.as_millisecond(), at.as_millisecond());
                proptest::prop_assert_eq!(text.parse(), Ok::<_, String>(Timestamp::of(known).unwrap()));
                proptest::prop_assert_eq!(&known.to_string()[..19], &text[..19]);
            }
        }
    }
}
