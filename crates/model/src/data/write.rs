//! Writes data value by value as text. The writer stores only the text and the positions of the members of open
//! objects.

use std::{collections::HashSet, sync::Arc};

use serde_json::value::RawValue;

use super::{Checked, Data};
use crate::json;

/// Writes [`Data`] value by value, without a tree of values.
///
/// The calls must form one JSON value: between [`begin_object`](Self::begin_object) and
/// [`end_object`](Self::end_object) each value follows a [`key`](Self::key).
#[derive(Debug, Default)]
pub struct DataWriter {
    text: Vec<u8>,
    values: usize,
    /// Lists and objects that are open.
    open: usize,
    levels: usize,
    /// The members of open objects.
    members: Vec<MemberPosition>,
    /// The start of each open object in `members`.
    objects: Vec<usize>,
    /// Whether a repeated member was removed from the text, so that the values must be counted again.
    has_lost: bool,
}

/// The position of a member in the text.
#[derive(Debug, Clone, Copy)]
struct MemberPosition {
    start: usize,
    value: usize,
}

/// A position for [`DataWriter::go_back`].
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    text: usize,
    values: usize,
    levels: usize,
}

impl DataWriter {
    /// A writer of one value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.begin_value();
        self.text.extend_from_slice(b"null");
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.begin_value();
        self.text.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Writes an integer.
    pub fn u64(&mut self, value: u64) {
        self.scalar(value);
    }

    /// Writes an integer.
    pub fn i64(&mut self, value: i64) {
        self.scalar(value);
    }

    /// Writes a number; a number that is not finite is written as `null`.
    pub fn f64(&mut self, value: f64) {
        self.scalar(value);
    }

    /// Writes a text.
    pub fn text(&mut self, value: &str) {
        self.begin_value();
        json::write_text(value, &mut self.text);
    }

    /// Begins a list.
    pub fn begin_list(&mut self) {
        self.begin_value();
        self.begin(b'[');
    }

    /// Ends the innermost list.
    pub fn end_list(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.text.push(b']');
    }

    /// Begins an object.
    pub fn begin_object(&mut self) {
        self.begin_value();
        self.begin(b'{');
        self.objects.push(self.members.len());
    }

    /// Begins a member of the innermost object.
    pub fn key(&mut self, key: &str) {
        self.separate();
        let start = self.text.len();
        json::write_text(key, &mut self.text);
        self.text.push(b':');
        self.members.push(MemberPosition { start, value: self.text.len() });
    }

    /// Ends the innermost object. If the object repeats a name, the last member remains.
    pub fn end_object(&mut self) {
        self.open = self.open.saturating_sub(1);
        let first = self.objects.pop().unwrap_or_default();
        if has_repetition(&self.text, &self.members[first..]) {
            remove_repetitions(&mut self.text, &self.members[first..]);
            self.has_lost = true;
        }
        self.members.truncate(first);
        self.text.push(b'}');
    }

    /// The position of the next value. Lists and objects that are open now must remain open until the call of
    /// [`go_back`](Self::go_back) with this mark.
    pub fn mark(&self) -> Mark {
        Mark { text: self.text.len(), values: self.values, levels: self.levels }
    }

    /// Removes all text after the mark. Lists and objects that were begun after the mark must be ended.
    pub fn go_back(&mut self, mark: Mark) {
        self.text.truncate(mark.text);
        self.values = mark.values;
        self.levels = mark.levels;
    }

    /// The written data; `null` if the text is not exactly one value.
    pub fn finish(self) -> Data {
        let Self { text, values, levels, has_lost, .. } = self;
        let text = String::from_utf8(text).ok().and_then(|text| RawValue::from_string(text).ok());
        let Some(text) = text else { return Data::default() };
        let data = Data(Arc::new(Checked { text, values, levels }));
        if has_lost { data.read().unwrap_or_default() } else { data }
    }

    fn scalar(&mut self, value: impl serde::Serialize) {
        self.begin_value();
        // This cannot fail: a number that is not finite is written as `null`.
        let _ = json::write(&value, &mut self.text);
    }

    fn begin_value(&mut self) {
        self.values += 1;
        self.separate();
    }

    fn begin(&mut self, bracket: u8) {
        self.text.push(bracket);
        self.open += 1;
        self.levels = self.levels.max(self.open);
    }

    /// Writes the comma before an item or a member, except before the first. The text of a value never ends with one of
    /// these bytes.
    fn separate(&mut self) {
        if !matches!(self.text.last(), None | Some(b'[' | b'{' | b':')) {
            self.text.push(b',');
        }
    }
}

fn name_of<'a>(text: &'a [u8], member: &MemberPosition) -> &'a [u8] {
    &text[member.start..member.value]
}

/// Whether two members have the same name. Names have one spelling, so equal names have equal bytes.
fn has_repetition(text: &[u8], members: &[MemberPosition]) -> bool {
    /// Up to this number, names are compared with each other; for more names, a hash set is faster.
    const FEW: usize = 8;
    if members.len() <= FEW {
        let is_again = |(index, member)| members[..index].iter().any(|it| name_of(text, it) == name_of(text, member));
        return members.iter().enumerate().any(is_again);
    }
    let mut names = HashSet::with_capacity(members.len());
    !members.iter().all(|member| names.insert(name_of(text, member)))
}

/// Removes repeated members (all except the last of each name) from the object at the end of the text. The cost depends
/// on the object, not on the text before the object.
fn remove_repetitions(text: &mut Vec<u8>, members: &[MemberPosition]) {
    let Some(first) = members.first() else { return };
    let mut seen = HashSet::with_capacity(members.len());
    let ends = members.iter().skip(1).map(|next| next.start - 1).chain([text.len()]);
    let all: Vec<_> = members.iter().zip(ends).collect();
    let mut kept: Vec<&[u8]> = all
        .into_iter()
        .rev()
        .filter(|(member, _)| seen.insert(name_of(text, member)))
        .map(|(member, end)| &text[member.start..end])
        .collect();
    kept.reverse();
    let kept = kept.join(&b',');
    text.truncate(first.start);
    text.extend_from_slice(&kept);
}
