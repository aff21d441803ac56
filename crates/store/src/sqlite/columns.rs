//! The keys of record rows, and the columns that all databases have in common.

pub(super) use crate::columns::{Moment, caller, from_column, scope, to_column};

/// The number of key bits for the sequence number of a record.
const SEQUENCE_BITS: u32 = 32;

/// The key of a record row. `sequence` is the number of the last record in the row.
pub(super) fn event_key(task: i64, sequence: u64) -> i64 {
    (task << SEQUENCE_BITS) | to_column(sequence.min((1 << SEQUENCE_BITS) - 1))
}

/// The sequence number in the key of a record row.
pub(super) fn sequence_of(key: i64) -> u64 {
    from_column(key & ((1 << SEQUENCE_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_contains_the_task_and_the_sequence_number() {
        assert_eq!(event_key(1, 0), 1 << 32);
        assert!(event_key(1, u64::MAX) < event_key(2, 0));
        assert_eq!(sequence_of(event_key(70_000, 20_000)), 20_000);
    }
}
