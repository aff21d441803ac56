//! Reads and writes the fields of a message. Each word of a [`message!`](super::message::message) table is one module.
//!
//! | word | proto3 | written | read |
//! |---|---|---|---|
//! | `implicit` | a scalar without presence | if not the default | the default counts as unset |
//! | `presence` | `optional`, a message | if set, even to the default | unchanged |
//! | `always` | a message that is `REQUIRED` | always | absent is the default; the validation reports the absence |
//! | `repeated` | a list | each item | each item, in order |
//! | `map` | a map | each entry, ordered by key | each entry; the last entry of a key wins |

use super::{
    fault::Fault,
    reader::{Reader, Side, Tag, Wire},
    writer,
};

/// A value that follows a tag.
pub(crate) trait Item: Default {
    /// The wire type in the tag.
    const WIRE: Wire;

    /// Appends the value.
    fn write(&self, to: &mut Vec<u8>);

    /// Reads the value. If a message occurs several times, the occurrences are merged.
    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault>;
}

/// A value that is omitted if it is the default.
pub(crate) trait Scalar: Item {
    /// Whether the value is the default.
    fn is_default(&self) -> bool;
}

impl<T: Item> Item for Box<T> {
    const WIRE: Wire = T::WIRE;

    #[inline]
    fn write(&self, to: &mut Vec<u8>) {
        (**self).write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        (**self).read(from)
    }
}

#[inline]
fn write_item<T: Item>(item: &T, number: u32, to: &mut Vec<u8>) {
    writer::tag(number, T::WIRE, to);
    item.write(to);
}

pub(crate) mod implicit {
    use super::{Fault, Reader, Scalar, Tag, write_item};

    /// A scalar, or an optional scalar that is never `Some` of the default.
    pub(crate) trait Implicit {
        fn write(&self, number: u32, to: &mut Vec<u8>);
        fn read(&mut self, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault>;
    }

    impl<T: Scalar> Implicit for T {
        #[inline]
        fn write(&self, number: u32, to: &mut Vec<u8>) {
            if !self.is_default() {
                write_item(self, number, to);
            }
        }

        #[inline]
        fn read(&mut self, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
            tag.expect(T::WIRE)?;
            self.read(from)
        }
    }

    impl<T: Scalar> Implicit for Option<T> {
        #[inline]
        fn write(&self, number: u32, to: &mut Vec<u8>) {
            if let Some(value) = self {
                Implicit::write(value, number, to);
            }
        }

        #[inline]
        fn read(&mut self, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
            let mut value = T::default();
            Implicit::read(&mut value, tag, from)?;
            *self = (!value.is_default()).then_some(value);
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn write(field: &impl Implicit, number: u32, to: &mut Vec<u8>) {
        field.write(number, to);
    }

    #[inline]
    pub(crate) fn read(field: &mut impl Implicit, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        field.read(tag, from)
    }
}

pub(crate) mod presence {
    #![expect(clippy::ref_option, reason = "all words take a reference to the field")]

    use super::{Fault, Item, Reader, Tag, write_item};

    #[inline]
    pub(crate) fn write<T: Item>(field: &Option<T>, number: u32, to: &mut Vec<u8>) {
        if let Some(value) = field {
            write_item(value, number, to);
        }
    }

    #[inline]
    pub(crate) fn read<T: Item>(field: &mut Option<T>, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        tag.expect(T::WIRE)?;
        field.get_or_insert_default().read(from)
    }
}

pub(crate) mod always {
    use super::{Fault, Item, Reader, Tag, write_item};

    #[inline]
    pub(crate) fn write<T: Item>(field: &T, number: u32, to: &mut Vec<u8>) {
        write_item(field, number, to);
    }

    #[inline]
    pub(crate) fn read<T: Item>(field: &mut T, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        tag.expect(T::WIRE)?;
        field.read(from)
    }

    /// Reads a value into a fresh default, because the last member of a `oneof` wins.
    #[inline]
    pub(crate) fn take<T: Item>(name: &'static str, tag: Tag, from: &mut Reader<'_>) -> Result<T, Fault> {
        let mut value = T::default();
        read(&mut value, tag, from).map_err(|fault| fault.inside(name))?;
        Ok(value)
    }
}

pub(crate) mod repeated {
    use super::{Fault, Item, Reader, Side, Tag, write_item};

    #[inline]
    pub(crate) fn write(field: &impl List, number: u32, to: &mut Vec<u8>) {
        field.write(number, to);
    }

    pub(crate) fn read<L: List>(field: &mut L, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        tag.expect(L::Item::WIRE)?;
        if field.len() == 0 {
            field.reserve(|| 1 + from.more_of(tag));
        }
        let mut item = L::Item::default();
        if let Err(fault) = item.read(from) {
            let fault = fault.at(field.len());
            if from.side == Side::Survey {
                // The items behind keep their places.
                field.push(item);
            }
            return Err(fault);
        }
        field.push(item);
        Ok(())
    }

    /// A collection of items.
    pub(crate) trait List {
        type Item: Item;
        fn write(&self, number: u32, to: &mut Vec<u8>);
        fn len(&self) -> usize;
        /// Reserves memory for `count` items, if the collection benefits.
        fn reserve(&mut self, count: impl FnOnce() -> usize);
        fn push(&mut self, item: Self::Item);
    }

    impl<T: Item> List for Vec<T> {
        type Item = T;

        #[inline]
        fn write(&self, number: u32, to: &mut Vec<u8>) {
            for item in self {
                write_item(item, number, to);
            }
        }

        fn len(&self) -> usize {
            self.len()
        }

        fn reserve(&mut self, count: impl FnOnce() -> usize) {
            // Lists live for a long time, in tasks, and most lists have one item.
            self.reserve_exact(count());
        }

        fn push(&mut self, item: T) {
            self.push(item);
        }
    }
}

pub(crate) mod map {
    use std::collections::BTreeMap;

    use super::{Fault, Item, Reader, Tag, Wire, always, write_item, writer};

    pub(crate) fn write<T: Item>(field: &BTreeMap<String, T>, number: u32, to: &mut Vec<u8>) {
        for (key, value) in field {
            writer::tag(number, Wire::Length, to);
            writer::nested(to, |to| {
                write_item(key, 1, to);
                write_item(value, 2, to);
            });
        }
    }

    pub(crate) fn read<T: Item>(field: &mut BTreeMap<String, T>, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        tag.expect(Wire::Length)?;
        let mut from = from.nested()?;
        let (mut key, mut value) = (String::new(), T::default());
        while let Some(tag) = from.tag()? {
            match tag.number {
                1 => always::read(&mut key, tag, &mut from)?,
                2 => always::read(&mut value, tag, &mut from)?,
                _ => from.skip(tag)?,
            }
        }
        field.insert(key, value);
        Ok(())
    }
}
