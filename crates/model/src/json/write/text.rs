//! Writes text: the bytes between quotes, with the necessary escapes.

const HALF: usize = size_of::<u32>();
const WORD: usize = size_of::<u64>();
const BLOCK: usize = 16;

/// A word with this byte in each place.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WORD])
}

/// Writes a text.
pub(super) fn write(text: &str, to: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    to.reserve(bytes.len() + 2);
    to.push(b'"');
    if is_plain(bytes) {
        to.extend_from_slice(bytes);
    } else {
        write_escaped(bytes, to);
    }
    to.push(b'"');
}

/// Whether no byte needs an escape. Examines the largest possible blocks; the last block can overlap the block before.
fn is_plain(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<BLOCK>() {
        return bytes.as_chunks::<BLOCK>().0.iter().all(is_plain_block) && is_plain_block(last);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<WORD>(), bytes.last_chunk::<WORD>()) {
        return is_plain_word(u64::from_ne_bytes(*first)) && is_plain_word(u64::from_ne_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>()) {
        let (first, last) = (u32::from_ne_bytes(*first), u32::from_ne_bytes(*last));
        return is_plain_word(u64::from(first) | u64::from(last) << u32::BITS);
    }
    bytes.iter().all(|byte| escape(*byte) == Escape::None)
}

/// The same for sixteen bytes. The loop has no early exit, so that the compiler uses a few instructions for all bytes.
#[inline]
fn is_plain_block(bytes: &[u8; BLOCK]) -> bool {
    let is_special = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    bytes.iter().fold(0, |special, byte| special | is_special(*byte)) == 0
}

/// Whether none of the eight bytes is a quote, a backslash or a control character.
const fn is_plain_word(word: u64) -> bool {
    special_of(word) == 0
}

/// The highest bit in the place of the lowest byte that needs an escape. The bits of higher places have no meaning.
const fn special_of(word: u64) -> u64 {
    // The highest bit of a place is set if the byte is below the bound. The bit is reliable only if no lower place is
    // set.
    const fn below(word: u64, bound: u8) -> u64 {
        word.wrapping_sub(each(bound)) & !word & each(0x80)
    }
    below(word, 0x20) | below(word ^ each(b'"'), 1) | below(word ^ each(b'\\'), 1)
}

#[derive(PartialEq, Eq)]
enum Escape {
    None,
    Short(u8),
    Long,
}

const fn escape(byte: u8) -> Escape {
    match byte {
        b'"' | b'\\' => Escape::Short(byte),
        b'\n' => Escape::Short(b'n'),
        b'\r' => Escape::Short(b'r'),
        b'\t' => Escape::Short(b't'),
        0x08 => Escape::Short(b'b'),
        0x0c => Escape::Short(b'f'),
        0..0x20 => Escape::Long,
        _ => Escape::None,
    }
}

/// Copies the bytes between two escaped bytes in one step.
fn write_escaped(mut bytes: &[u8], to: &mut Vec<u8>) {
    while let Some(at) = first_special(bytes) {
        to.extend_from_slice(&bytes[..at]);
        write_escape(bytes[at], to);
        bytes = &bytes[at + 1..];
    }
    to.extend_from_slice(bytes);
}

/// The position of the first byte that needs an escape.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (place, word) in words.iter().enumerate() {
        let special = special_of(u64::from_le_bytes(*word));
        if special != 0 {
            return Some(place * WORD + (special.trailing_zeros() / u8::BITS) as usize);
        }
    }
    let at = rest.iter().position(|byte| escape(*byte) != Escape::None)?;
    Some(words.len() * WORD + at)
}

fn write_escape(byte: u8, to: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match escape(byte) {
        Escape::None => to.push(byte),
        Escape::Short(letter) => to.extend_from_slice(&[b'\\', letter]),
        Escape::Long => {
            let [high, low] = [byte >> 4, byte & 0xf].map(|digit| HEX[usize::from(digit)]);
            to.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    }
}
