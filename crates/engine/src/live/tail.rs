//! The end of a task's log that is in memory for its readers.

use std::{collections::VecDeque, mem, sync::Arc};

use nuncio_model::{Part, StreamEvent};

use crate::{kept::Kept, record::Record, store::Portion};

/// What a record takes beside what it carries: the event, its part, and what allocators add.
const AROUND: usize = size_of::<StreamEvent>() + size_of::<Part>() + 64;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) records: usize,
    /// What they take in memory, about.
    pub(crate) bytes: usize,
}

impl Backlog {
    pub(crate) fn is_beyond(self, other: Self) -> bool {
        self.records > other.records || self.bytes > other.bytes
    }

    /// So many parts of it out of sixteen.
    pub(crate) fn sixteenths(self, parts: usize) -> Self {
        let part = |whole: usize| whole / 16 * parts + whole % 16 * parts / 16;
        Self { records: part(self.records), bytes: part(self.bytes) }
    }
}

/// The newest records of a log, with what each takes; counted among those of all tasks.
#[derive(Default)]
pub(super) struct Tail {
    records: VecDeque<(Record, usize)>,
    bytes: usize,
    /// Where its bytes are counted, once there were any.
    kept: Option<Arc<Kept>>,
}

impl Tail {
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { records: self.records.len(), bytes: self.bytes }
    }

    /// Adds records. Those with many readers keep what they were encoded to, which is about as much again.
    pub(super) fn extend(&mut self, records: &[Record], many_readers: bool, kept: &Arc<Kept>) {
        let before = self.bytes;
        for record in records {
            let bytes = AROUND + record.size() * (1 + usize::from(many_readers));
            self.bytes += bytes;
            self.records.push_back((record.clone(), bytes));
        }
        self.kept.get_or_insert_with(|| Arc::clone(kept)).add_to_tails(self.bytes - before);
    }

    /// Drops the records up to this one.
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
            && let Some(kept) = &self.kept
        {
            kept.take_from_tails(bytes);
        }
    }

    /// The number of the first record.
    pub(super) fn first(&self) -> Option<u64> {
        self.records.front().map(|(record, _)| record.sequence())
    }

    /// The number of the last record that has to go for no more than this to be left.
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

    /// Records behind so many, as many as the portion takes, each with the bytes that it takes.
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
    fn what_is_kept_is_counted_until_it_is_gone() {
        let kept = Kept::new(usize::MAX);
        let (mut tail, mut other) = (Tail::default(), Tail::default());
        tail.extend(&records(&[1_000, 0, 9_000]), false, &kept);
        other.extend(&records(&[500]), true, &kept);
        assert_eq!(tail.backlog(), Backlog { records: 3, bytes: 10_000 + 3 * AROUND });
        assert_eq!(kept.bytes(), 11_000 + 4 * AROUND);
        assert!((250..500).contains(&AROUND), "docs/limits.md says how much: {AROUND}");
        tail.drop_until(2);
        assert_eq!((tail.first(), tail.backlog()), (Some(3), Backlog { records: 1, bytes: 9_000 + AROUND }));
        other.clear();
        assert_eq!(kept.bytes(), 9_000 + AROUND);
        drop(tail);
        assert_eq!(kept.bytes(), 0);
    }

    #[test]
    fn the_oldest_records_go_until_no_more_is_left_than_may_be() {
        let mut tail = Tail::default();
        tail.extend(&records(&[1_000, 2_000, 3_000, 4_000]), false, &Kept::new(usize::MAX));
        let last_beyond = |records, bytes| tail.last_beyond(Backlog { records, bytes });
        assert_eq!(last_beyond(9, usize::MAX), None);
        assert_eq!(last_beyond(3, usize::MAX), Some(1));
        assert_eq!(last_beyond(9, 7_000 + 2 * AROUND), Some(2));
        assert_eq!(last_beyond(9, 6_999 + 2 * AROUND), Some(3));
        assert_eq!((last_beyond(0, 9), last_beyond(9, 0)), (Some(4), Some(4)));
    }

    #[test]
    fn a_share_of_a_backlog_is_right_at_all_sizes() {
        let of = |whole| Backlog { records: whole, bytes: whole };
        for (whole, parts, expected) in [(64, 15, 60), (64, 8, 32), (3, 8, 1), (1, 15, 0), (0, 8, 0)] {
            assert_eq!(of(whole).sixteenths(parts), of(expected));
        }
        assert_eq!(of(usize::MAX).sixteenths(8), of(usize::MAX / 2));
    }
}
