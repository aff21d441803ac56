//! The server's id of a task with an id that the client made (0.1, `tasks/send`: `params.id`), and the search for the
//! newest task under a client's id.
//!
//! The server's id is computed from the scope of the caller, the id of the client and a generation. Therefore no table
//! is needed to find a task, and the ids of two callers always differ. Generations have no gaps, so a search finds the
//! newest with few lookups.

use nuncio_model::{Scope, TaskId};
use uuid::Uuid;

/// The namespace of computed ids. The namespace must never change.
const NAMESPACE: Uuid = Uuid::from_u128(0x7d0f_0f1c_53a9_5c57_9d6e_2a41_8c3b_e001);

/// The server's id of the task with this generation of a client's id.
pub(super) fn server_id(scope: &Scope, client_id: &str, generation: u32) -> TaskId {
    let key = scope.key();
    let name = format!("{}:{key}{generation}:{client_id}", key.len());
    Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string().into()
}

/// A search for the newest generation: the step doubles until a generation is missing, then the range is halved.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The newest generation that exists so far, or 0.
    newest_there: u32,
    oldest_missing: Option<u32>,
}

impl Search {
    /// The generation to look up next. `None` once the newest generation is known.
    pub(super) fn next(&self) -> Option<u32> {
        let there = self.newest_there;
        match self.oldest_missing {
            None => Some(there.saturating_mul(2).max(1)).filter(|next| *next > there),
            Some(missing) if missing - there > 1 => Some(there + (missing - there) / 2),
            Some(_) => None,
        }
    }

    /// Records the result of a lookup.
    pub(super) fn found(&mut self, generation: u32, is_there: bool) {
        if is_there {
            self.newest_there = generation;
        } else {
            self.oldest_missing = Some(generation);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use nuncio_model::{Principal, Tenant};
    use proptest::prelude::*;

    use super::*;

    fn search(there: u32) -> (u32, u32) {
        let (mut search, mut looks) = (Search::default(), 0);
        while let Some(generation) = search.next() {
            search.found(generation, generation <= there);
            looks += 1;
        }
        (search.newest_there, looks)
    }

    proptest! {
        #[test]
        fn the_newest_generation_is_found_in_few_lookups(there in 0..=u32::MAX) {
            let (newest, looks) = search(there);
            prop_assert_eq!(newest, there);
            prop_assert!(looks <= 2 * (there | 1).ilog2() + 2, "{} looks", looks);
        }

        #[test]
        fn ids_differ_if_any_input_differs(
            calls in prop::collection::hash_set(("[a:1=?]{0,3}", 0..4_u8, "[a:1=?]{0,3}", "[a:1=?]{0,3}", 1..12_u32), 2..40),
        ) {
            let ids: HashSet<_> = calls.iter().map(|(tenant, who, name, id, generation)| {
                let principal = match who {
                    0 => Principal::Open,
                    1 => Principal::Anonymous,
                    _ => Principal::named(&**name),
                };
                (Scope::new(Tenant::from(&**tenant), principal), id.clone(), *generation)
            }).collect();
            let made: HashSet<_> = ids.iter().map(|(scope, id, generation)| server_id(scope, id, *generation)).collect();
            prop_assert_eq!(made.len(), ids.len());
        }
    }

    #[test]
    fn the_usual_cases_take_one_or_two_lookups() {
        assert_eq!(search(0), (0, 1));
        assert_eq!(search(1), (1, 2));
        assert_eq!(search(1000), (1000, 20));
    }

    #[test]
    fn ids_never_change() {
        let id = server_id(&Scope::open(), "client-task-0007", 1);
        assert_eq!(id, "d165f47c-356f-5451-a187-b2089911f4ea");
        assert_eq!(id, server_id(&Scope::open(), "client-task-0007", 1));
    }
}
