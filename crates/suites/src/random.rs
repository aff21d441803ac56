//! Pseudorandom numbers with a fixed seed, so that a failure can be repeated.

/// A generator: xorshift64*.
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(number).unwrap_or_default() % bound
    }

    /// Returns `true` with a probability of 1 in `odds`.
    pub fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    /// A random element of a slice.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
