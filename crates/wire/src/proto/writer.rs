//! Writes the protobuf wire format at the end of one buffer, in one pass.
//!
//! A nested message needs its length in front. To avoid a second pass, the writer reserves one byte for the length, and
//! moves the message if one byte is too short. Messages are small and nest at most seven levels deep.

use super::reader::Wire;

/// Appends a field's tag.
#[inline]
pub(crate) fn tag(number: u32, wire: Wire, to: &mut Vec<u8>) {
    varint(u64::from(number << 3 | wire as u32), to);
}

/// Appends a number of variable length.
#[inline]
pub(crate) fn varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    to.push(low_bits(value));
}

/// Appends a length.
#[inline]
pub(crate) fn length(length: usize, to: &mut Vec<u8>) {
    varint(length as u64, to);
}

/// Appends a length and the bytes.
#[inline]
pub(crate) fn slice(bytes: &[u8], to: &mut Vec<u8>) {
    length(bytes.len(), to);
    to.extend_from_slice(bytes);
}

/// Appends a length and a message.
pub(crate) fn nested(to: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = to.len();
    to.push(0);
    write(to);
    let size = to.len() - at - 1;
    if size < 0x80 {
        to[at] = low_bits(size as u64);
        return;
    }
    let width = varint_len(size);
    to.resize(at + width + size, 0);
    to.copy_within(at + 1..=at + size, at + width);
    let mut rest = size as u64;
    for byte in &mut to[at..at + width] {
        *byte = low_bits(rest) | 0x80;
        rest >>= 7;
    }
    to[at + width - 1] &= 0x7f;
}

/// The number of bytes of a varint.
#[inline]
pub(crate) fn varint_len(value: usize) -> usize {
    let bits = (usize::BITS - (value | 1).leading_zeros()) as usize;
    bits.div_ceil(7)
}

/// The number of bytes of content with its length.
#[inline]
pub(crate) fn with_length(size: usize) -> usize {
    varint_len(size) + size
}

/// The lowest seven bits.
#[inline]
fn low_bits(value: u64) -> u8 {
    (value & 0x7f) as u8
}
