//! Finds scopes with many rows of totals. Each commit that changes a counter adds rows, and housekeeping sums up the
//! rows.

use std::collections::HashMap;

use nuncio_model::Scope;
use parking_lot::Mutex;

/// The number of commits after which the rows of a scope are summed up.
pub(super) const MANY: u32 = 32;

/// The maximum number of scopes that are summed up at a time.
const SCOPES: usize = 100;

/// The maximum number of scopes that are counted. A periodic check of all totals finds the other scopes.
const COUNTED: usize = 16_384;

/// Counts the commits of this node by scope.
#[derive(Debug, Default)]
pub(super) struct Totals(Mutex<HashMap<Scope, u32>>);

impl Totals {
    /// Counts a commit that adds rows to the totals of a scope.
    pub(super) fn note(&self, scope: &Scope) {
        let mut counted = self.0.lock();
        if let Some(commits) = counted.get_mut(scope) {
            *commits = commits.saturating_add(1);
        } else if counted.len() < COUNTED {
            counted.insert(scope.clone(), 1);
        }
    }

    /// Takes some of the scopes that have many rows.
    pub(super) fn take_crowded(&self) -> Vec<Scope> {
        let mut counted = self.0.lock();
        let crowded = counted.iter().filter(|(_, commits)| **commits >= MANY).map(|(scope, _)| scope.clone());
        let crowded: Vec<_> = crowded.take(SCOPES).collect();
        for scope in &crowded {
            counted.remove(scope);
        }
        if counted.len() >= COUNTED && crowded.len() < SCOPES {
            counted.clear();
        }
        crowded
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::Principal;

    use super::*;

    #[test]
    fn crowded_scopes_are_taken_and_the_number_of_counted_scopes_is_limited() {
        let totals = Totals::default();
        let scope = |name: usize| Scope::new("t".into(), Principal::named(name.to_string()));
        for _ in 0..MANY {
            assert!(totals.take_crowded().is_empty());
            (0..3).for_each(|name| totals.note(&scope(name)));
        }
        let mut crowded = totals.take_crowded();
        crowded.sort_by_key(|scope| scope.principal.to_string());
        assert_eq!(crowded, [0, 1, 2].map(scope));
        assert!(totals.take_crowded().is_empty());
        (0..2 * COUNTED).for_each(|name| totals.note(&scope(name)));
        assert_eq!(totals.0.lock().len(), COUNTED);
        assert!(totals.take_crowded().is_empty());
        assert_eq!(totals.0.lock().len(), 0);
    }
}
