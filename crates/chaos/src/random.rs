//! Random choices; the same seed gives the same choices on any machine.

/// A generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another generator; the same name gives the same generator.
    pub(crate) fn fork(&self, name: u64) -> Self {
        let mut fork = Self(self.0 ^ name.wrapping_mul(0xd605_1f6c_6b1d_8ab5));
        Self(fork.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number in `low..high`; the range must not be empty.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// Returns `true` in this percentage of the calls.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.range(0, 100) < percent
    }

    /// One of the items; `None` if there are no items.
    pub(crate) fn choose<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(usize::try_from(self.range(0, of.len() as u64)).unwrap_or(0)) }
    }
}
