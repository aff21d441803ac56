//! Sizes in messages for people.

use std::fmt;

/// A number of bytes in a readable form: `16 MiB`, `1.5 KiB`, `1 byte`. Up to 64 KiB the number is not rounded, so that
/// a size and the limit below it have different texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl Size {
    /// The size of a value in memory.
    pub fn of(bytes: usize) -> Self {
        Self(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let is_rounded = |unit: u64| !(self.0 * 10).is_multiple_of(unit);
        let fits = |unit: u64| self.0 >= unit && (self.0 >= 64 << 10 || !is_rounded(unit));
        match units.iter().find(|(_, unit)| fits(*unit)) {
            None if self.0 == 1 => f.write_str("1 byte"),
            None => write!(f, "{} bytes", self.0),
            Some((name, unit)) => {
                let (whole, tenths) = (self.0 / unit, self.0 % unit * 10 / unit);
                if tenths == 0 { write!(f, "{whole} {name}") } else { write!(f, "{whole}.{tenths} {name}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (9001, "9001 bytes"),
            (100_000, "97.6 KiB"),
            (16 << 20, "16 MiB"),
            ((5 << 30) + (1 << 29), "5.5 GiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
