//! The amount of a log that is read at once.

use crate::record::Record;

/// The amount of a log that is read at once: a number of records or a size ([`Record::size`]), whichever is reached
/// first. The record that reaches the size is included, so a portion has at least one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portion {
    /// The number of records. With 0, the portion is empty.
    pub records: usize,
    /// The size in bytes. With 0, the portion is empty.
    pub bytes: usize,
}

impl Portion {
    /// A number of records without a size limit.
    pub const fn records(records: usize) -> Self {
        Self { records, bytes: usize::MAX }
    }

    /// Whether another record fits.
    pub const fn has_room(&self) -> bool {
        self.records > 0 && self.bytes > 0
    }

    /// Takes the next record from the portion. Returns `false` if the record does not fit.
    pub fn takes(&mut self, record: &Record) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.records -= 1;
            self.bytes = self.bytes.saturating_sub(record.size());
        }
        has_room
    }

    /// Whether these records fill the portion, so that more records can follow.
    pub fn is_filled_by(&self, records: &[Record]) -> bool {
        let mut rest = *self;
        records.iter().all(|record| rest.takes(record)) && !rest.has_room()
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::Message;

    use super::*;

    fn of(records: usize, bytes: usize) -> Portion {
        Portion { records, bytes }
    }

    #[test]
    fn the_record_that_fills_a_portion_is_the_last_one() {
        let records: Vec<_> = (1..=4).map(|sequence| Record::received(sequence, Message::user("12345"))).collect();
        let taken = |mut portion: Portion| records.iter().take_while(|record| portion.takes(record)).count();
        for (portion, expected) in [(of(2, 99), 2), (of(9, 10), 2), (of(9, 11), 3), (of(9, 1), 1), (of(9, 99), 4)] {
            assert_eq!(taken(portion), expected, "{portion:?}");
            assert_eq!(portion.is_filled_by(&records[..expected]), expected < 4, "{portion:?}");
        }
        assert_eq!((taken(of(0, 9)), taken(of(9, 0)), taken(Portion::records(3))), (0, 0, 3));
    }
}
