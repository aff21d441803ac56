//! The parts of an artifact: a plain list for few parts, compact blocks for many.
//!
//! A streaming agent produces artifacts of thousands of short texts. In blocks, a text takes its bytes and two more. A
//! clone shares the blocks with its original; a new part changes only the last block.

use std::{fmt, iter::FusedIterator, mem, slice, sync::Arc, vec};

use serde::{
    Deserializer, Serializer,
    de::{self, SeqAccess},
    ser::SerializeSeq as _,
};

use crate::{
    json::{Field, In},
    part::{Part, PartRef},
};

/// The number of parts in the list; the parts after them are in blocks.
const FEW: usize = 16;

/// Bytes of text in a block, and the longest text for a block of texts.
const TEXT: usize = 4 * 1024;

/// The limit of texts in a block.
const TEXTS: usize = 1024;

/// The limit of parts of any kind in a block.
const MIXED: usize = 128;

/// The parts of an [`Artifact`](crate::Artifact), in order.
///
/// Parts are created from a list, can be appended, and are read in order as [`PartRef`]s. A clone of many parts is
/// cheap, because clone and original share the common blocks.
///
/// ```
/// use nuncio_model::{Part, PartRef, Parts};
///
/// let mut parts = Parts::from([Part::text("one "), Part::text("two")]);
/// parts.push(Part::data(3));
/// assert_eq!(parts.iter().filter_map(PartRef::as_text).collect::<String>(), "one two");
/// assert_eq!(parts.get(2).and_then(PartRef::as_data).unwrap().as_str(), "3");
/// ```
#[derive(Clone)]
pub struct Parts(Kept);

/// The size of a list: most events have one part, and there are many events.
#[derive(Clone)]
enum Kept {
    Few(Vec<Part>),
    Many(Box<Many>),
}

#[derive(Clone)]
struct Many {
    first: Vec<Part>,
    rest: Vec<Arc<Block>>,
    len: usize,
}

#[derive(Clone)]
enum Block {
    /// Short texts without other members, and the end of each text.
    Texts {
        text: String,
        ends: Vec<u16>,
    },
    Mixed(Vec<Part>),
}

impl Parts {
    /// An empty list of parts.
    pub fn new() -> Self {
        Vec::new().into()
    }

    /// The number of parts.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Few(parts) => parts.len(),
            Kept::Many(many) => many.len,
        }
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first part.
    pub fn first(&self) -> Option<PartRef<'_>> {
        self.iter().next()
    }

    /// The part, if there is exactly one.
    pub fn only(&self) -> Option<PartRef<'_>> {
        self.first().filter(|_| self.len() == 1)
    }

    /// The part at this index, from 0. The cost grows with the index, because [`iter`](Self::iter) visits each part
    /// before.
    pub fn get(&self, index: usize) -> Option<PartRef<'_>> {
        self.iter().nth(index)
    }

    /// The parts in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        let (first, rest): (&[_], &[_]) = match &self.0 {
            Kept::Few(parts) => (parts, &[]),
            Kept::Many(many) => (&many.first, &many.rest),
        };
        Iter { parts: first.iter(), texts: Texts::default(), blocks: rest.iter(), left: self.len() }
    }

    /// Adds a part at the end.
    pub fn push(&mut self, part: Part) {
        match &mut self.0 {
            Kept::Few(parts) if parts.len() < FEW => {
                if parts.is_empty() {
                    // Most artifacts have one part; `push` would reserve memory for four.
                    parts.reserve_exact(1);
                }
                parts.push(part);
            }
            Kept::Few(parts) => {
                let first = mem::take(parts);
                let mut many = Box::new(Many { len: first.len(), first, rest: Vec::new() });
                many.push(part);
                self.0 = Kept::Many(many);
            }
            Kept::Many(many) => many.push(part),
        }
    }

    /// Adds copies of parts at the end.
    pub fn extend_from(&mut self, others: &Self) {
        for part in others {
            match (&mut self.0, short_text(part)) {
                (Kept::Many(many), Some(text)) => many.push_text(text),
                _ => self.push(part.into()),
            }
        }
    }

    /// Changes each part.
    pub fn for_each_mut(&mut self, change: impl FnMut(&mut Part)) {
        let mut parts = mem::take(self).into_vec();
        parts.iter_mut().for_each(change);
        *self = parts.into();
    }

    /// All parts as a list.
    pub fn into_vec(self) -> Vec<Part> {
        match self.0 {
            Kept::Few(parts) => parts,
            Kept::Many(_) => self.iter().map(Part::from).collect(),
        }
    }
}

/// The text of a part, if the part fits into a block of texts.
fn short_text(part: PartRef<'_>) -> Option<&str> {
    part.as_text().filter(|text| text.len() <= TEXT && part.is_bare())
}

impl Many {
    fn push(&mut self, part: Part) {
        if let Some(text) = short_text((&part).into()) {
            return self.push_text(text);
        }
        self.len += 1;
        match self.rest.last_mut().filter(|block| block.can_be_mixed()) {
            Some(block) => Arc::make_mut(block).push(part),
            None => self.rest.push(Arc::new(Block::Mixed(vec![part]))),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.len += 1;
        match self.rest.last_mut().filter(|block| block.has_room(text.len())) {
            Some(block) => Arc::make_mut(block).push_text(text),
            None => self.rest.push(Arc::new(Block::of_text(text, self.rest.len() > 1))),
        }
    }
}

impl Block {
    /// A block with this first text. `will_be_full` reserves the full size, because a block after several full blocks
    /// probably becomes full too.
    fn of_text(text: &str, will_be_full: bool) -> Self {
        let room = if will_be_full { TEXT } else { text.len() };
        let mut block = Self::Texts { text: String::with_capacity(room), ends: Vec::new() };
        block.push_text(text);
        block
    }

    fn has_room(&self, bytes: usize) -> bool {
        match self {
            Self::Texts { text, ends } => text.len() + bytes <= TEXT && ends.len() < TEXTS,
            Self::Mixed(parts) => parts.len() < MIXED,
        }
    }

    /// Whether the block has room for a part of any kind. A block with few texts is converted to parts.
    fn can_be_mixed(&self) -> bool {
        match self {
            Self::Texts { ends, .. } => ends.len() < FEW,
            Self::Mixed(parts) => parts.len() < MIXED,
        }
    }

    fn push_text(&mut self, new: &str) {
        match self {
            Self::Texts { text, ends } => {
                text.push_str(new);
                #[expect(clippy::cast_possible_truncation, reason = "a block has at most four kilobytes")]
                ends.push(text.len() as u16);
            }
            Self::Mixed(parts) => parts.push(Part::text(new)),
        }
    }

    fn push(&mut self, part: Part) {
        if let Self::Texts { text, ends } = self {
            let texts = Texts { text, start: 0, ends: ends.iter() };
            *self = Self::Mixed(texts.map(Part::text).collect());
        }
        if let Self::Mixed(parts) = self {
            parts.push(part);
        }
    }
}

/// The texts of a block.
#[derive(Debug, Clone, Default)]
struct Texts<'a> {
    text: &'a str,
    start: usize,
    ends: slice::Iter<'a, u16>,
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = usize::from(*self.ends.next()?);
        Some(&self.text[mem::replace(&mut self.start, end)..end])
    }
}

/// Reads [`Parts`] in order.
#[derive(Clone)]
pub struct Iter<'a> {
    parts: slice::Iter<'a, Part>,
    texts: Texts<'a>,
    blocks: slice::Iter<'a, Arc<Block>>,
    left: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = PartRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<PartRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.parts.next().map(PartRef::from).or_else(|| self.next_in_blocks())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a> Iter<'a> {
    fn next_in_blocks(&mut self) -> Option<PartRef<'a>> {
        loop {
            if let Some(part) = self.texts.next().map(PartRef::text) {
                return Some(part);
            }
            match &**self.blocks.next()? {
                Block::Texts { text, ends } => self.texts = Texts { text, start: 0, ends: ends.iter() },
                Block::Mixed(parts) => {
                    self.parts = parts.iter();
                    return self.parts.next().map(PartRef::from);
                }
            }
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl FusedIterator for Iter<'_> {}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().fmt(f)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> IntoIterator for &'a Parts {
    type Item = PartRef<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for Parts {
    type Item = Part;
    type IntoIter = vec::IntoIter<Part>;

    fn into_iter(self) -> vec::IntoIter<Part> {
        self.into_vec().into_iter()
    }
}

impl From<Vec<Part>> for Parts {
    fn from(parts: Vec<Part>) -> Self {
        if parts.len() <= FEW { Self(Kept::Few(parts)) } else { parts.into_iter().collect() }
    }
}

impl<const N: usize> From<[Part; N]> for Parts {
    fn from(parts: [Part; N]) -> Self {
        Vec::from(parts).into()
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        let mut all = Self::new();
        all.extend(parts);
        all
    }
}

impl Extend<Part> for Parts {
    fn extend<I: IntoIterator<Item = Part>>(&mut self, parts: I) {
        parts.into_iter().for_each(|part| self.push(part));
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl PartialEq<[Part]> for Parts {
    fn eq(&self, other: &[Part]) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter().map(PartRef::from))
    }
}

impl<const N: usize> PartialEq<[Part; N]> for Parts {
    fn eq(&self, other: &[Part; N]) -> bool {
        *self == other[..]
    }
}

impl PartialEq<Vec<Part>> for Parts {
    fn eq(&self, other: &Vec<Part>) -> bool {
        *self == other[..]
    }
}

impl Field for Parts {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PartsVisitor;
        impl<'de> de::Visitor<'de> for PartsVisitor {
            type Value = Parts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts, A::Error> {
                let mut parts = Parts::new();
                while let Some(part) = seq.next_element::<In<Part>>()? {
                    parts.push(part.0);
                }
                if let Kept::Few(parts) = &mut parts.0 {
                    parts.shrink_to_fit();
                }
                Ok(parts)
            }
        }
        from.deserialize_seq(PartsVisitor)
    }

    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.len()))?;
        for part in self {
            seq.serialize_element(&part)?;
        }
        seq.end()
    }

    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Artifact;

    fn texts(count: usize) -> Vec<Part> {
        (0..count).map(|number| Part::text(format!("chunk {number} of many"))).collect()
    }

    fn blocks(parts: &Parts) -> usize {
        if let Kept::Many(many) = &parts.0 { many.rest.len() } else { 0 }
    }

    #[test]
    fn parts_are_no_larger_than_a_list() {
        assert_eq!(size_of::<Parts>(), size_of::<Vec<Part>>());
    }

    #[test]
    fn parts_are_read_as_they_were_added() {
        let kinds = |number: usize| match number % 7 {
            0 => Part::data(number as u64),
            1 => Part::text("typed").with_media_type("text/csv"),
            2 => Part::text("x".repeat(TEXT + number % 2)),
            3 => Part::text(""),
            4 => Part::raw([1, 2]),
            5 => Part::url("https://example.com/a"),
            _ => Part::text("ä".repeat(number)),
        };
        let runs = |number: usize| if number.is_multiple_of(50) { Part::data(number as u64) } else { Part::text("ü") };
        let of: [&dyn Fn(usize) -> Part; 4] = [&kinds, &runs, &|_| Part::text(""), &|_| Part::text("z".repeat(3_000))];
        for of in of {
            for count in [0, 1, FEW - 1, FEW, FEW + 1, 2 * FEW, MIXED + FEW + 1, 3_000] {
                let list: Vec<Part> = (0..count).map(of).collect();
                let parts = Parts::from(list.clone());
                assert_eq!((parts.len(), parts.is_empty()), (count, count == 0));
                assert_eq!(parts, list);
                assert_eq!(parts.iter().len(), count);
                assert_eq!(parts.get(count / 2).map(Part::from).as_ref(), list.get(count / 2));
                assert_eq!((parts.get(count).is_none(), parts.only().is_some()), (true, count == 1));
                let mut copied = Parts::new();
                copied.extend_from(&parts);
                assert_eq!(copied, parts);
                assert_eq!(format!("{:?}", parts.iter()), format!("{list:?}"));
                let artifact = Artifact::new("a", parts);
                let json = crate::json::to_string(&artifact).unwrap();
                assert_eq!(serde_json::from_str::<Artifact>(&json).unwrap(), artifact);
                assert_eq!(artifact.parts.into_vec(), list);
            }
        }
    }

    #[test]
    fn parts_differ_if_one_part_differs() {
        let parts = Parts::from(texts(300));
        for at in [0, 15, 16, 17, 299] {
            let mut others = texts(300);
            others[at] = Part::text("other");
            assert_ne!(parts, Parts::from(others));
        }
        assert_ne!(parts, Parts::from(texts(299)));
        assert_ne!(Parts::from(texts(299)), parts);
    }

    #[test]
    fn a_clone_shares_blocks_and_changes_independently() {
        let original = Parts::from(texts(2_000));
        let mut grown = original.clone();
        grown.push(Part::text("more"));
        assert_eq!((original.len(), grown.len()), (2_000, 2_001));
        assert_eq!(original, texts(2_000));
        let (Kept::Many(one), Kept::Many(other)) = (&original.0, &grown.0) else { panic!("not in blocks") };
        let shared = one.rest.iter().zip(&other.rest).filter(|(one, other)| Arc::ptr_eq(one, other)).count();
        assert_eq!((shared, blocks(&original)), (blocks(&original) - 1, blocks(&grown)));
        grown.for_each_mut(|part| *part = Part::text("changed"));
        assert_eq!(original, texts(2_000));
        assert!(grown.iter().all(|part| part.as_text() == Some("changed")));
    }

    #[test]
    fn short_texts_and_other_parts_are_in_few_blocks() {
        let bytes: usize = texts(3_000).iter().filter_map(|part| PartRef::from(part).as_text()).map(str::len).sum();
        assert!(blocks(&Parts::from(texts(3_000))) <= 2 + bytes / TEXT);
        assert!(blocks(&(0..3_000).map(Part::data).collect()) <= 1 + 3_000 / MIXED);
        let alternating = |number| if number % 2 == 0 { Part::text("x") } else { Part::data(number) };
        assert!(blocks(&(0..3_000).map(alternating).collect()) <= 1 + 3_000 / MIXED);
        assert!(blocks(&(0..3_000).map(|_| Part::text("")).collect()) <= 1 + 3_000 / TEXTS);
    }
}
