//! Reads the protobuf wire format: tags, varints and slices of one contiguous message, without copies.

use super::fault::Fault;

/// The wire type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// A number of variable length.
    Varint = 0,
    /// Eight bytes.
    Fixed64 = 1,
    /// A length, followed by that number of bytes: a string, bytes, a message.
    Length = 2,
    /// The start of a group. proto3 has no groups.
    GroupStart = 3,
    /// The end of a group.
    GroupEnd = 4,
    /// Four bytes.
    Fixed32 = 5,
}

/// The number of a field and the wire type of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire: Wire,
}

impl Tag {
    /// Checks the wire type of the value.
    pub(crate) fn expect(self, wire: Wire) -> Result<(), Fault> {
        if self.wire == wire {
            return Ok(());
        }
        Err(Fault::malformed(format!("field {} is of wire type {}, not {}", self.number, self.wire as u8, wire as u8)))
    }
}

/// The sender of the message, which decides the strictness of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// A client sent the message: unknown values are refused.
    Request,
    /// The same once more, after a value was refused: the values behind are read, too, so that all that is wrong can be
    /// named.
    Survey,
    /// A server sent the message: unknown values are skipped, because the server can be newer.
    Reply,
}

/// The unread rest of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    pub(crate) side: Side,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8], side: Side) -> Self {
        Self { rest, side }
    }

    /// The tag of the next field, or `None` at the end of the message.
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            3 => Wire::GroupStart,
            4 => Wire::GroupEnd,
            5 => Wire::Fixed32,
            _ => return Err(garbled()),
        };
        let number = number.ok_or_else(garbled)?;
        Ok(Some(Tag { number, wire }))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        match self.rest {
            [byte @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            if index == 9 && *byte > 1 {
                return Err(garbled());
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { cut_off() } else { garbled() })
    }

    pub(crate) fn fixed64(&mut self) -> Result<[u8; 8], Fault> {
        let (value, rest) = self.rest.split_first_chunk().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*value)
    }

    /// The bytes that follow a length.
    pub(crate) fn slice(&mut self) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(self.varint()?).map_err(|_| cut_off())?;
        let (slice, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(slice)
    }

    pub(crate) fn str(&mut self) -> Result<&'a str, Fault> {
        str::from_utf8(self.slice()?).map_err(|_| Fault::malformed("the string is not UTF-8"))
    }

    /// The message that follows a length.
    pub(crate) fn nested(&mut self) -> Result<Self, Fault> {
        Ok(Self { rest: self.slice()?, side: self.side })
    }

    /// The number of directly following fields with this tag. The current value must still be unread. The number
    /// estimates the length of a list.
    pub(crate) fn more_of(&self, tag: Tag) -> usize {
        let mut ahead = *self;
        let mut count = 0;
        while ahead.skip(tag).is_ok() {
            match ahead.tag() {
                Ok(Some(next)) if next == tag => count += 1,
                _ => break,
            }
        }
        count
    }

    /// Skips an unknown field.
    pub(crate) fn skip(&mut self, tag: Tag) -> Result<(), Fault> {
        let mut groups = Vec::new();
        let mut tag = tag;
        loop {
            match tag.wire {
                Wire::Varint => {
                    self.varint()?;
                }
                Wire::Fixed64 => {
                    self.fixed64()?;
                }
                Wire::Length => {
                    self.slice()?;
                }
                Wire::Fixed32 => self.rest = self.rest.get(4..).ok_or_else(cut_off)?,
                Wire::GroupStart if groups.len() < MAX_GROUPS => groups.push(tag.number),
                Wire::GroupEnd if groups.last() == Some(&tag.number) => {
                    groups.pop();
                }
                Wire::GroupStart | Wire::GroupEnd => return Err(garbled()),
            }
            if groups.is_empty() {
                return Ok(());
            }
            tag = self.tag()?.ok_or_else(cut_off)?;
        }
    }
}

/// The maximum depth of groups in an unknown field.
const MAX_GROUPS: usize = 100;

#[cold]
fn garbled() -> Fault {
    Fault::malformed("the body is not a protobuf message")
}

#[cold]
fn cut_off() -> Fault {
    Fault::malformed("the protobuf message is cut off")
}
