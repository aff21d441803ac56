//! Writes text: its bytes between quotes, escaped where they have to be.

const WORD: usize = size_of::<u64>();

/// This byte in each place of a word.
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

/// Whether no byte is to be escaped.
fn is_plain(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let is_plain = |word: &[u8; WORD]| is_plain_word(u64::from_ne_bytes(*word));
    if !words.iter().all(is_plain) {
        return false;
    }
    match bytes.last_chunk::<WORD>() {
        // Looks at some bytes twice.
        Some(last) => is_plain(last),
        None => rest.iter().all(|byte| escape(*byte) == Escape::None),
    }
}

/// Whether none of the eight bytes is a quote, a backslash or a control character.
const fn is_plain_word(word: u64) -> bool {
    // The highest bit of a place tells that its byte was below, if none further down was.
    const fn below(word: u64, bound: u8) -> u64 {
        word.wrapping_sub(each(bound)) & !word & each(0x80)
    }
    below(word, 0x20) | below(word ^ each(b'"'), 1) | below(word ^ each(b'\\'), 1) == 0
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

fn write_escaped(bytes: &[u8], to: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        match escape(byte) {
            Escape::None => to.push(byte),
            Escape::Short(letter) => to.extend_from_slice(&[b'\\', letter]),
            Escape::Long => {
                let [high, low] = [byte >> 4, byte & 0xf].map(|digit| HEX[usize::from(digit)]);
                to.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
}
