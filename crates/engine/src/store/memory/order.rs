//! Tasks in the order of a list: a sorted sequence of blocks.
//!
//! New tasks are appended, so blocks are full and an insert is a push. An insert at another position moves at most one
//! block. Growth never moves all tasks, which would delay all callers.

use std::{cmp::Ordering, sync::Arc};

use nuncio_model::{TaskState, Timestamp};

use super::node::MemoryNode;

/// The entries of a block. A move in a block takes a fraction of a microsecond.
const BLOCK: usize = 512;

/// A timestamp in twelve bytes, because every task has three timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
pub(super) struct Moment {
    seconds: i64,
    nanoseconds: i32,
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        let (seconds, nanoseconds) = at.into_parts();
        Self { seconds, nanoseconds }
    }
}

impl From<Moment> for Timestamp {
    fn from(at: Moment) -> Self {
        Self::from_parts(at.seconds, at.nanoseconds).unwrap_or_default()
    }
}

/// An entry of a task in a list, with its status.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) at: Moment,
    pub(super) state: TaskState,
    pub(super) node: Arc<MemoryNode>,
}

impl Entry {
    pub(super) fn place(&self) -> Place<'_> {
        Place { at: self.at, id: self.node.id.as_str() }
    }
}

/// A position in the order: by timestamp, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place<'a> {
    pub(super) at: Moment,
    pub(super) id: &'a str,
}

impl Place<'_> {
    /// The position before all tasks with this timestamp.
    pub(super) fn start_of(at: Moment) -> Self {
        Self { at, id: "" }
    }
}

/// Oldest first. No block is empty.
#[derive(Default)]
pub(super) struct Order {
    blocks: Vec<Vec<Entry>>,
    len: usize,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        self.len += 1;
        let (block, offset) = match self.newest() {
            Some(newest) if newest.place() > entry.place() => self.search(entry.place()),
            Some(_) => (self.blocks.len() - 1, self.blocks.last().map_or(0, Vec::len)),
            None => (0, 0),
        };
        match self.blocks.get_mut(block) {
            Some(entries) if entries.len() < BLOCK => entries.insert(offset, entry),
            Some(entries) if offset < BLOCK => {
                let upper = entries.split_off(BLOCK / 2);
                self.blocks.insert(block + 1, upper);
                let (block, offset) =
                    if offset <= BLOCK / 2 { (block, offset) } else { (block + 1, offset - BLOCK / 2) };
                self.blocks[block].insert(offset, entry);
            }
            _ => self.blocks.push(vec![entry]),
        }
    }

    pub(super) fn remove(&mut self, place: Place<'_>) -> bool {
        let (block, offset) = self.search(place);
        let Some(entries) = self.blocks.get_mut(block) else { return false };
        if entries.get(offset).is_none_or(|entry| entry.place() != place) {
            return false;
        }
        entries.remove(offset);
        self.len -= 1;
        if entries.is_empty() {
            self.blocks.remove(block);
        }
        true
    }

    /// The entries before a position, or all entries, newest first.
    pub(super) fn before(&self, place: Option<Place<'_>>) -> Descending<'_> {
        let (block, offset) = place.map_or((self.blocks.len(), 0), |place| self.search(place));
        Descending { order: self, block, offset }
    }

    /// The entries after a position, or all entries, oldest first.
    pub(super) fn after(&self, place: Option<Place<'_>>) -> impl Iterator<Item = &Entry> {
        let (block, offset) = place.map_or((0, 0), |place| self.search(place));
        let entries = self.blocks.iter().skip(block).flatten().skip(offset);
        entries.skip_while(move |entry| place.is_some_and(|place| entry.place() == place))
    }

    /// The number of entries at or after this position.
    pub(super) fn count_from(&self, place: Place<'_>) -> usize {
        let (block, offset) = self.search(place);
        self.blocks.iter().skip(block).map(Vec::len).sum::<usize>() - offset
    }

    fn newest(&self) -> Option<&Entry> {
        self.blocks.last()?.last()
    }

    /// The first entry that is not before the position, or the end.
    fn search(&self, place: Place<'_>) -> (usize, usize) {
        let is_before = |entry: &Entry| entry.place().cmp(&place) == Ordering::Less;
        let block = self.blocks.partition_point(|block| block.last().is_some_and(is_before));
        let offset = self.blocks.get(block).map_or(0, |block| block.partition_point(is_before));
        (block, offset)
    }
}

/// Entries, newest first.
pub(super) struct Descending<'a> {
    order: &'a Order,
    block: usize,
    offset: usize,
}

impl<'a> Iterator for Descending<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        if self.offset == 0 {
            self.block = self.block.checked_sub(1)?;
            self.offset = self.order.blocks[self.block].len();
        }
        self.offset -= 1;
        Some(&self.order.blocks[self.block][self.offset])
    }
}

#[cfg(test)]
mod tests {
    use nuncio_suites::random::Random;
    use parking_lot::Mutex;

    use super::*;
    use crate::store::memory::{node::Head, tables::Tables};

    fn entry(tables: &Tables, second: i64, id: &str) -> Entry {
        let node = MemoryNode {
            id: id.into(),
            context: "c".into(),
            scope: tables.coming(&nuncio_model::Scope::open()).scope(),
            head: Mutex::new(Head::new()),
        };
        let at = Moment { seconds: second, nanoseconds: 0 };
        Entry { at, state: TaskState::Working, node: Arc::new(node) }
    }

    fn ids<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<String> {
        entries.map(|entry| entry.node.id.to_string()).collect()
    }

    #[test]
    fn is_small() {
        assert_eq!((size_of::<Entry>(), size_of::<Option<Entry>>()), (24, 24));
    }

    #[test]
    fn the_order_equals_a_sorted_list() {
        let (tables, mut random, mut order) = (Tables::new(), Random::new(1), Order::default());
        let mut plain: Vec<Entry> = Vec::new();
        for number in 0..6_000 {
            // Most inserts at the end, some anywhere, many with the same time.
            let second = if random.one_in(3) { random.below(2_000) } else { 1_000 + number / 6 };
            let new = entry(&tables, i64::try_from(second).unwrap(), &format!("{}", random.below(1 << 30)));
            order.insert(new.clone());
            plain.push(new);
            if random.one_in(4) {
                let gone = plain.swap_remove(random.below(plain.len()));
                assert!(order.remove(gone.place()));
                assert!(!order.remove(gone.place()));
            }
        }
        plain.sort_by(|one, two| two.place().cmp(&one.place()));
        assert_eq!(order.len(), plain.len());
        assert_eq!(ids(order.before(None)), ids(plain.iter()));
        assert!(order.blocks.iter().all(|block| (1..=BLOCK).contains(&block.len())));
        for second in [-1, 0, 500, 1_500, 3_000] {
            let place = Place::start_of(Moment { seconds: second, nanoseconds: 0 });
            let later = plain.iter().take_while(|entry| entry.place() >= place).count();
            assert_eq!(order.count_from(place), later);
            assert_eq!(ids(order.before(Some(place))), ids(plain[later..].iter()));
            assert_eq!(ids(order.after(Some(place))), ids(plain[..later].iter().rev()));
        }
        assert_eq!(ids(order.after(None)), ids(plain.iter().rev()));
        for (number, entry) in plain.iter().enumerate().step_by(97) {
            assert_eq!(ids(order.after(Some(entry.place()))), ids(plain[..number].iter().rev()));
        }
    }

    #[test]
    fn blocks_of_ordered_inserts_are_full() {
        let (tables, mut order) = (Tables::new(), Order::default());
        for number in 0..2_000 {
            order.insert(entry(&tables, number, "t"));
        }
        assert_eq!(order.blocks.iter().map(Vec::len).collect::<Vec<_>>(), [512, 512, 512, 464]);
    }
}
