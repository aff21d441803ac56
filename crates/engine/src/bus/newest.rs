//! A queue that keeps only the newest number of each key, in the order in which the keys arrived.

use nuncio_limit::{Hashing, hashing};
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

/// A bounded queue of sequence numbers, one for each key.
pub(super) struct Newest<K> {
    order: VecDeque<K>,
    sequences: HashMap<K, u64, Hashing>,
    limit: usize,
}

/// The limit of keys is reached.
#[derive(Debug)]
pub(super) struct Full;

impl<K: Clone + Eq + Hash> Newest<K> {
    pub(super) fn new(limit: usize) -> Self {
        Self { order: VecDeque::new(), sequences: HashMap::with_hasher(hashing()), limit }
    }

    /// Adds a number. If the key exists, the higher number remains at the existing position.
    pub(super) fn push(&mut self, key: K, sequence: u64) -> Result<(), Full> {
        if let Some(waiting) = self.sequences.get_mut(&key) {
            *waiting = sequence.max(*waiting);
            return Ok(());
        }
        if self.order.len() >= self.limit {
            return Err(Full);
        }
        self.order.push_back(key.clone());
        self.sequences.insert(key, sequence);
        Ok(())
    }

    /// Takes the first key.
    pub(super) fn pop(&mut self) -> Option<(K, u64)> {
        let key = self.order.pop_front()?;
        let sequence = self.sequences.remove(&key)?;
        Some((key, sequence))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Removes all keys and releases the memory.
    pub(super) fn clear(&mut self) -> VecDeque<K> {
        self.sequences = HashMap::with_hasher(hashing());
        std::mem::take(&mut self.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_each_key_stays_in_the_place_of_the_first() {
        let mut waiting = Newest::new(2);
        for (key, sequence) in [("a", 1), ("b", 7), ("a", 3), ("a", 2)] {
            waiting.push(key, sequence).unwrap();
        }
        assert!(waiting.push("c", 1).is_err(), "a third key");
        assert_eq!([waiting.pop(), waiting.pop(), waiting.pop()], [Some(("a", 3)), Some(("b", 7)), None]);
        waiting.push("c", 1).unwrap();
        assert_eq!(waiting.clear(), ["c"]);
        assert_eq!(waiting.pop(), None);
    }
}
