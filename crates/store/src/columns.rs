//! The representation of model types in database columns.

use nuncio_engine::StoreError;
use nuncio_model::{Principal, Scope, Tenant, Timestamp};

use crate::error::corrupt;

/// A time in two columns that sort in the order of time: milliseconds since 1970, and the remaining nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) millisecond: i64,
    pub(crate) rest: i64,
}

const NANOSECONDS_PER_MILLISECOND: i64 = 1_000_000;

impl Moment {
    /// `FIRST` is earlier than all other times, and `LAST` is later.
    pub(crate) const FIRST: Self = Self { millisecond: i64::MIN, rest: 0 };
    pub(crate) const LAST: Self = Self { millisecond: i64::MAX, rest: 0 };
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        let (seconds, nanoseconds) = at.into_parts();
        let nanoseconds = i64::from(nanoseconds);
        Self {
            millisecond: seconds * 1_000 + nanoseconds / NANOSECONDS_PER_MILLISECOND,
            rest: nanoseconds % NANOSECONDS_PER_MILLISECOND,
        }
    }
}

impl Moment {
    pub(crate) fn to_timestamp(self) -> Result<Timestamp, StoreError> {
        let seconds = self.millisecond.div_euclid(1_000);
        let nanoseconds = self.millisecond.rem_euclid(1_000) * NANOSECONDS_PER_MILLISECOND + self.rest;
        i32::try_from(nanoseconds)
            .ok()
            .and_then(|nanoseconds| Timestamp::from_parts(seconds, nanoseconds))
            .ok_or_else(|| corrupt("a time is out of range"))
    }
}

/// The column value of the caller of a scope.
pub(crate) fn caller(principal: &Principal) -> Result<String, StoreError> {
    match principal {
        Principal::Open => Ok(String::new()),
        Principal::Anonymous => Ok("?".to_owned()),
        Principal::Named(name) => Ok(format!("={name}")),
        _ => Err(StoreError::Unavailable("the store does not support this kind of caller".into())),
    }
}

pub(crate) fn scope(tenant: String, caller: &str) -> Result<Scope, StoreError> {
    let principal = match (caller, caller.strip_prefix('=')) {
        ("", _) => Principal::Open,
        ("?", _) => Principal::Anonymous,
        (_, Some(name)) => Principal::named(name),
        _ => return Err(corrupt("the kind of a caller is unknown")),
    };
    Ok(Scope::new(Tenant::from(tenant), principal))
}

/// Converts to the type of a column. Numbers of this crate are far below `i64::MAX`.
pub(crate) fn to_column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn from_column(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_unchanged_and_sort_by_time() {
        let times = [
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999999999Z",
            "1970-01-01T00:00:00Z",
            "2026-01-31T12:00:00.123456789Z",
            "2026-01-31T12:00:00.124Z",
            "9999-12-31T23:59:59.999999999Z",
        ];
        let times = times.map(|time| time.parse::<Timestamp>().unwrap());
        let moments = times.map(Moment::from);
        assert!(moments.is_sorted());
        assert_eq!(moments.map(|moment| moment.to_timestamp().unwrap()), times);
    }
}
