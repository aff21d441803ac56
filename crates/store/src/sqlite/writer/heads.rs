//! The columns of a task that the writer needs for a write.

use std::collections::{HashMap, HashSet};

use nuncio_model::{Scope, TaskId, TaskState};
use quick_cache::DefaultHashBuilder;
use rusqlite::{Connection, OptionalExtension as _};

use super::{
    REMEMBERED, Writer,
    group::{GroupResult, GroupWriter},
};
use crate::sqlite::columns::{self, Moment, from_column};

/// A table in memory with the hash function of the cache, which is fast: each commit uses several tables.
pub(super) type Table<K, V> = HashMap<K, V, DefaultHashBuilder>;

/// A row of `tasks`, without its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) scope: Scope,
    pub(super) task: i64,
    pub(super) scope_key: i64,
    pub(super) state: TaskState,
    pub(super) updated: Moment,
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    pub(super) running: bool,
    /// Whether the task has, or had, push configurations.
    pub(super) pushed: bool,
    /// Whether the body is in the table `bodies`.
    pub(super) is_big: bool,
}

/// The changes of a group. They are copied into the writer's tables after the commit.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) heads: Table<TaskId, Head>,
    pub(super) scopes: Table<Scope, i64>,
    /// The deleted tasks. A later write of the group may have created a task with the same id.
    pub(super) gone: HashSet<TaskId, DefaultHashBuilder>,
    /// The scopes that have no tasks any more, with their keys.
    pub(super) gone_scopes: Table<Scope, i64>,
}

impl Writer {
    pub(super) fn remember(&mut self, changes: Changes) {
        if self.heads.len() + changes.heads.len() > REMEMBERED {
            self.heads.clear();
        }
        for id in &changes.gone {
            self.heads.remove(id);
        }
        for (id, head) in changes.heads {
            if head.running {
                self.heads.insert(id, head);
            } else {
                self.heads.remove(&id);
            }
        }
        if self.scopes.len() + changes.scopes.len() > REMEMBERED {
            self.scopes.clear();
        }
        self.scopes.extend(changes.scopes);
        for scope in changes.gone_scopes.keys() {
            self.scopes.remove(scope);
        }
    }
}

impl GroupWriter<'_, '_> {
    /// The head of a task at this point of the group, if the task belongs to this scope.
    pub(super) fn head(&mut self, scope: &Scope, id: &TaskId) -> GroupResult<Option<Head>> {
        if let Some(head) = self.changes.heads.get(id) {
            let head = head.clone();
            self.flush()?;
            return Ok((head.scope == *scope).then_some(head));
        }
        if self.changes.gone.contains(id) {
            return Ok(None);
        }
        if let Some(head) = self.writer.heads.get(id) {
            return Ok((head.scope == *scope).then(|| head.clone()));
        }
        Ok(read(&self.writer.connection, scope, id)?)
    }
}

fn read(connection: &Connection, scope: &Scope, id: &TaskId) -> rusqlite::Result<Option<Head>> {
    let Ok(caller) = columns::caller(&scope.principal) else { return Ok(None) };
    let mut statement = connection.prepare_cached(
        "SELECT task, scope, state, updated, updated_rest, sequence, epoch, running, pushed, body IS NULL \
         FROM tasks JOIN scopes USING (scope) WHERE id = ?1 AND tenant = ?2 AND caller = ?3",
    )?;
    statement
        .query_row((id.as_str(), scope.tenant.as_str(), caller), |row| {
            Ok(Head {
                scope: scope.clone(),
                task: row.get(0)?,
                scope_key: row.get(1)?,
                state: TaskState::from_number(row.get(2)?).unwrap_or_default(),
                updated: Moment { millisecond: row.get(3)?, rest: row.get(4)? },
                sequence: from_column(row.get(5)?),
                epoch: from_column(row.get(6)?),
                running: row.get(7)?,
                pushed: row.get(8)?,
                is_big: row.get(9)?,
            })
        })
        .optional()
}
