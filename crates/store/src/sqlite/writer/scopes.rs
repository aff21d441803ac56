//! The keys of scopes and the numbers of their tasks.

use nuncio_model::{Scope, TaskState};

use super::group::{GroupResult, GroupWriter};
use crate::sqlite::columns;

impl GroupWriter<'_, '_> {
    /// The key of a scope. A new scope gets a new key.
    pub(super) fn scope_key(&mut self, scope: &Scope) -> GroupResult<Option<i64>> {
        let known = self.writer.scopes.get(scope).or_else(|| self.changes.scopes.get(scope));
        if let Some(key) = known {
            return Ok(Some(*key));
        }
        let Ok(caller) = columns::caller(&scope.principal) else { return Ok(None) };
        let mut statement = self.writer.connection.prepare_cached(
            "INSERT INTO scopes (tenant, caller) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET tenant = tenant RETURNING scope",
        )?;
        let key = statement.query_row((scope.tenant.as_str(), caller), |row| row.get(0))?;
        drop(statement);
        self.changes.scopes.insert(scope.clone(), key);
        Ok(Some(key))
    }

    /// Counts a task that entered (1) or left (-1) a state.
    pub(super) fn count(&mut self, scope: i64, state: TaskState, change: i64) {
        *self.totals.entry((scope, state.number())).or_default() += change;
    }

    /// Writes the counters.
    pub(super) fn write_totals(&mut self) -> GroupResult<()> {
        let mut statement = self.writer.connection.prepare_cached(
            "INSERT INTO totals VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
        )?;
        for ((scope, state), change) in self.totals.drain().filter(|(_, change)| *change != 0) {
            statement.execute((scope, state, change))?;
        }
        Ok(())
    }
}
