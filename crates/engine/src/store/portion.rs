//! How much of a log is read at once.

use crate::record::Record;

/// How much of a log is read at once: so many records, or so many bytes of what they carry ([`Record::size`]),
/// whichever is reached first. The record that reaches it is still read, so there is always one, however large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portion {
    /// How many records. With 0 there are none.
    pub records: usize,
    /// How many bytes. With 0 there are no records.
    pub bytes: usize,
}

impl Portion {
    /// So many records, however large.
    pub const fn records(records: usize) -> Self {
        Self { records, bytes: usize::MAX }
    }

    /// Whether it has room for another record.
    pub const fn has_room(&self) -> bool {
        self.records > 0 && self.bytes > 0
    }

    /// Counts a record that is read next: what is left is for those after it. `false` where there is no room for it.
    pub fn takes(&mut self, record: &Record) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.records -= 1;
            self.bytes = self.bytes.saturating_sub(record.size());
        }
        has_room
    }

    /// Whether these records fill it, so that there may be more behind them.
    pub fn is_filled_by(mut self, records: &[Record]) -> bool {
        records.iter().all(|record| self.takes(record)) && !self.has_room()
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
