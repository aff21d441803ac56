//! Converts protobuf values to the text of data.

use nuncio_model::DataWriter;

use super::tag;
use crate::proto::{
    fault::Fault,
    reader::{Reader, Tag, Wire},
};

/// The maximum depth of lists and objects, equal to the maximum depth in JSON.
pub(super) const MAX_DEPTH: usize = 128;

/// Reads a value. If a value has several kinds, the last kind wins. A value without a kind is `null`, as in most
/// readers.
pub(super) fn value(mut from: Reader<'_>, depth: usize, to: &mut DataWriter) -> Result<(), Fault> {
    let mark = to.mark();
    let mut has_kind = false;
    while let Some(tag) = from.tag()? {
        if !(tag::NULL..=tag::LIST).contains(&tag.number) {
            from.skip(tag)?;
            continue;
        }
        if has_kind {
            to.go_back(mark);
        }
        has_kind = true;
        kind(tag, &mut from, depth, to)?;
    }
    if !has_kind {
        to.null();
    }
    Ok(())
}

fn kind(tag: Tag, from: &mut Reader<'_>, depth: usize, to: &mut DataWriter) -> Result<(), Fault> {
    match tag.number {
        tag::NUMBER => {
            tag.expect(Wire::Fixed64)?;
            number(f64::from_le_bytes(from.fixed64()?), to)?;
        }
        tag::STRING => {
            tag.expect(Wire::Length)?;
            to.text(from.str()?);
        }
        tag::BOOL => {
            tag.expect(Wire::Varint)?;
            to.bool(from.varint()? != 0);
        }
        tag::STRUCT => {
            tag.expect(Wire::Length)?;
            let depth = deeper(depth)?;
            to.begin_object();
            members(&mut from.nested()?, depth, to)?;
            to.end_object();
        }
        tag::LIST => {
            tag.expect(Wire::Length)?;
            let depth = deeper(depth)?;
            to.begin_list();
            items(&mut from.nested()?, depth, to)?;
            to.end_list();
        }
        _ => {
            tag.expect(Wire::Varint)?;
            from.varint()?;
            to.null();
        }
    }
    Ok(())
}

fn items(from: &mut Reader<'_>, depth: usize, to: &mut DataWriter) -> Result<(), Fault> {
    while let Some(tag) = from.tag()? {
        if tag.number == tag::ITEM {
            tag.expect(Wire::Length)?;
            value(from.nested()?, depth, to)?;
        } else {
            from.skip(tag)?;
        }
    }
    Ok(())
}

/// Reads the members of an object after its opening brace.
pub(super) fn members(from: &mut Reader<'_>, depth: usize, to: &mut DataWriter) -> Result<(), Fault> {
    while let Some(tag) = from.tag()? {
        if tag.number == tag::ITEM {
            tag.expect(Wire::Length)?;
            member(from.nested()?, depth, to)?;
        } else {
            from.skip(tag)?;
        }
    }
    Ok(())
}

/// Reads a member. The name can follow the value. If the name or value is repeated, the last occurrence wins.
fn member(mut from: Reader<'_>, depth: usize, to: &mut DataWriter) -> Result<(), Fault> {
    to.key(name(from)?);
    let mark = to.mark();
    let mut has_value = false;
    while let Some(tag) = from.tag()? {
        if tag.number == tag::VALUE {
            tag.expect(Wire::Length)?;
            if has_value {
                to.go_back(mark);
            }
            has_value = true;
            value(from.nested()?, depth, to)?;
        } else {
            from.skip(tag)?;
        }
    }
    if !has_value {
        to.null();
    }
    Ok(())
}

fn name(mut from: Reader<'_>) -> Result<&str, Fault> {
    let mut name = "";
    while let Some(tag) = from.tag()? {
        if tag.number == tag::KEY {
            tag.expect(Wire::Length)?;
            name = from.str()?;
        } else {
            from.skip(tag)?;
        }
    }
    Ok(name)
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    depth.checked_sub(1).ok_or_else(too_deep)
}

pub(super) fn too_deep() -> Fault {
    Fault::invalid("lists and objects nest too deep")
}

/// Writes a number as JSON. JSON has no infinity and no NaN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range checks exclude truncation")]
fn number(double: f64, to: &mut DataWriter) -> Result<(), Fault> {
    if !double.is_finite() {
        return Err(Fault::invalid("a number must be finite"));
    }
    if double.fract() == 0.0 && !(double == 0.0 && double.is_sign_negative()) {
        if (-TWO_TO_63..TWO_TO_63).contains(&double) {
            to.i64(double as i64);
            return Ok(());
        }
        if (0.0..2.0 * TWO_TO_63).contains(&double) {
            to.u64(double as u64);
            return Ok(());
        }
    }
    to.f64(double);
    Ok(())
}

/// The smallest positive double that exceeds every `i64`.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
