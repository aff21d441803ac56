//! Sizes in the notation of users, for the reason of a failure.

use std::fmt;

/// A number of bytes, displayed in the largest unit without a remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_the_largest_unit_that_divides_it() {
        let shown = [0, 100, 1 << 10, 10 << 20, 1 << 30, (1 << 30) + 1].map(|size| Size(size).to_string());
        assert_eq!(shown, ["0 bytes", "100 bytes", "1 KiB", "10 MiB", "1 GiB", "1073741825 bytes"]);
    }
}
