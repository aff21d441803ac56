//! The sort order of ids in tables.

use uuid::{Uuid, fmt::Hyphenated};

/// An id as the key of a sorted table.
///
/// Generated ids are UUIDs of version 7, and their numbers grow with time. New tasks are therefore neighbors in the table,
/// and an insert accesses memory that is still in the cache, whatever the size of the table. Hashes would be spread
/// over the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key<I> {
    /// An id that is a UUID in its usual form.
    Uuid([u64; 2]),
    /// Any other id.
    Text(I),
}

impl<I: AsRef<str> + Clone> Key<I> {
    pub(super) fn of(id: &I) -> Self {
        canonical(id.as_ref()).map_or_else(|| Self::Text(id.clone()), |id| Self::Uuid(id.as_u64_pair().into()))
    }
}

/// The UUID if the id has the usual form. Ids are compared as text, and one UUID can have several other forms.
fn canonical(text: &str) -> Option<Uuid> {
    if text.len() != Hyphenated::LENGTH {
        return None;
    }
    let id = Uuid::try_parse(text).ok()?;
    let mut again = [0; Hyphenated::LENGTH];
    (*id.hyphenated().encode_lower(&mut again) == *text).then_some(id)
}

#[cfg(test)]
mod tests {
    use nuncio_model::TaskId;

    use super::*;

    #[test]
    fn only_the_canonical_text_is_a_number() {
        let id = TaskId::generate();
        assert!(matches!(Key::of(&id), Key::Uuid(_)));
        let forms =
            [id.as_str().to_uppercase(), id.as_str().replace('-', ""), format!("{{{id}}}"), format!("urn:uuid:{id}")];
        for form in forms.into_iter().chain([String::new(), "7".repeat(36), "é".repeat(18)]) {
            let form = TaskId::from(form);
            assert_eq!(Key::of(&form), Key::Text(form));
        }
    }

    #[test]
    fn later_ids_sort_after_earlier_ids() {
        let mut last = Key::of(&TaskId::generate());
        for _ in 0..1_000 {
            let next = Key::of(&TaskId::generate());
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn is_small() {
        assert_eq!(size_of::<Key<TaskId>>(), 24);
    }
}
