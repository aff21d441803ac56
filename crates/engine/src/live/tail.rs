//! The newest records of the log of a task, in memory for the readers of the task.

use std::{collections::VecDeque, mem, sync::Arc};

use nuncio_model::{Part, StreamEvent};

use crate::{reader_budget::ReaderBudget, record::Record, store::Portion};

/// The memory of a record beside its content: the event, its part, and the overhead of allocators.
const AROUND: usize = size_of::<StreamEvent>() + size_of::<Part>() + 64;

/// A number of records and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) records: usize,
    /// The approximate memory of the records.
    pub(crate) bytes: usize,
}

impl Backlog {
    pub(crate) fn is_beyond(self, other: Self) -> bool {
        self.records > other.records || self.bytes > other.bytes
    }

    /// A fraction in sixteenths.
    pub(crate) fn sixteenths(self, parts: usize) -> Self {
        let part = |whole: usize| whole / 16 * parts + whole % 16 * parts / 16;
        Self { records: part(self.records), bytes: part(self.bytes) }
    }
}

/// The newest records of a log, each with its size. The size counts in the budget of all tasks.
#[derive(Default)]
pub(super) struct Tail {
    records: VecDeque<(Record, usize)>,
    bytes: usize,
    /// The budget that counts the bytes. Set by the first records.
    budget: Option<Arc<ReaderBudget>>,
}

impl Tail {
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { records: self.records.len(), bytes: self.bytes }
    }

    /// Adds records. Records with many readers keep their encoded form, which takes about the same size once more.
    pub(super) fn extend(&mut self, records: &[Record], many_readers: bool, budget: &Arc<ReaderBudget>) {
        let before = self.bytes;
        for record in records {
            let bytes = AROUND + record.size() * (1 + usize::from(many_readers));
            self.bytes += bytes;
            self.records.push_back((record.clone(), bytes));
        }
        self.budget.get_or_insert_with(|| Arc::clone(budget)).reserve_tail(self.bytes - before);
    }

    /// Drops the records up to this sequence number.
    pub(super) fn drop_until(&mut self, sequence: u64) {
        let before = self.bytes;
        while let Some((_, bytes)) = self.records.pop_front_if(|(record, _)| record.sequence() <= sequence) {
            self.bytes -= bytes;
        }
        self.release(before - self.bytes);
    }

    pub(super) fn clear(&mut self) {
        self.records = VecDeque::new();
        let bytes = mem::take(&mut self.bytes);
        self.release(bytes);
    }

    fn release(&self, bytes: usize) {
        if bytes > 0
            && let Some(budget) = &self.budget
        {
            budget.release_tail(bytes);
        }
    }

    /// The sequence number of the first record.
    pub(super) fn first(&self) -> Option<u64> {
        self.records.front().map(|(record, _)| record.sequence())
    }

    /// The sequence number of the last record to drop, so that not more than `most` is left.
    pub(super) fn last_beyond(&self, most: Backlog) -> Option<u64> {
        let (mut left, mut last) = (self.backlog(), None);
        for (record, bytes) in &self.records {
            if !left.is_beyond(most) {
                break;
            }
            left.records -= 1;
            left.bytes -= bytes;
            last = Some(record.sequence());
        }
        last
    }

    /// A portion of the records after the first `skip` records, each with its size.
    pub(super) fn after(&self, skip: usize, mut portion: Portion) -> impl Iterator<Item = (&Record, usize)> {
        let taken = move |(_, bytes): &&(Record, usize)| {
            let has_room = portion.has_room();
            portion.records = portion.records.saturating_sub(1);
            portion.bytes = portion.bytes.saturating_sub(*bytes);
            has_room
        };
        self.records.iter().skip(skip).take_while(taken).map(|(record, bytes)| (record, *bytes))
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Artifact, StreamResponse, TaskArtifactUpdateEvent};

    use super::*;

    fn records(sizes: &[usize]) -> Vec<Record> {
        let of_size = |(place, size): (usize, &usize)| {
            let artifact = Artifact::new("a", vec![Part::text("x".repeat(*size))]);
            let update = TaskArtifactUpdateEvent { artifact, ..Default::default() };
            Record::update(place as u64 + 1, StreamResponse::ArtifactUpdate(update))
        };
        sizes.iter().enumerate().map(of_size).collect()
    }

    #[test]
    fn records_count_in_the_budget_until_they_are_dropped() {
        let budget = ReaderBudget::new(usize::MAX);
        let (mut tail, mut other) = (Tail::default(), Tail::default());
        tail.extend(&records(&[1_000, 0, 9_000]), false, &budget);
        other.extend(&records(&[500]), true, &budget);
        assert_eq!(tail.backlog(), Backlog { records: 3, bytes: 10_000 + 3 * AROUND });
        assert_eq!(budget.bytes(), 11_000 + 4 * AROUND);
        assert!((250..500).contains(&AROUND), "docs/limits.md says how much: {AROUND}");
        tail.drop_until(2);
        assert_eq!((tail.first(), tail.backlog()), (Some(3), Backlog { records: 1, bytes: 9_000 + AROUND }));
        other.clear();
        assert_eq!(budget.bytes(), 9_000 + AROUND);
        drop(tail);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn the_oldest_records_are_dropped_down_to_a_limit() {
        let mut tail = Tail::default();
        tail.extend(&records(&[1_000, 2_000, 3_000, 4_000]), false, &ReaderBudget::new(usize::MAX));
        let last_beyond = |records, bytes| tail.last_beyond(Backlog { records, bytes });
        assert_eq!(last_beyond(9, usize::MAX), None);
        assert_eq!(last_beyond(3, usize::MAX), Some(1));
        assert_eq!(last_beyond(9, 7_000 + 2 * AROUND), Some(2));
        assert_eq!(last_beyond(9, 6_999 + 2 * AROUND), Some(3));
        assert_eq!((last_beyond(0, 9), last_beyond(9, 0)), (Some(4), Some(4)));
    }

    #[test]
    fn a_fraction_of_a_backlog_is_exact_at_all_sizes() {
        let of = |whole| Backlog { records: whole, bytes: whole };
        for (whole, parts, expected) in [(64, 15, 60), (64, 8, 32), (3, 8, 1), (1, 15, 0), (0, 8, 0)] {
            assert_eq!(of(whole).sixteenths(parts), of(expected));
        }
        assert_eq!(of(usize::MAX).sixteenths(8), of(usize::MAX / 2));
    }
}
