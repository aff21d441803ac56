//! Reading the values of settings.

/// Bytes, as `16M`, `64KiB` or a plain number.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size such as 16M, 64K or 1048576");
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = text[..digits].parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A whole number.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.trim().replace('_', "").parse().map_err(|_| format!("`{text}` is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("16M", 16 << 20), ("64KiB", 64 << 10), ("1g", 1 << 30), ("123", 123), ("2 MB", 2 << 20)]
        {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "M", "1X", "1.5M", "-1", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
