//! Push configurations and their outbox. The outbox is a cursor per configuration: the records after `delivered`, up to
//! `pending`, are pending.

use nuncio_engine::store::PushSettlement;
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};

use super::group::{GroupResult, GroupWriter};
use crate::sqlite::{
    append::{Append, ConfigRow},
    columns::to_column,
};

impl GroupWriter<'_, '_> {
    /// Stores the configurations of a new task. Returns `true` if the task has configurations; the records of the
    /// commit are pending for them.
    pub(super) fn add_configs(&self, task: i64, append: &Append) -> rusqlite::Result<bool> {
        for config in &append.push_configs {
            self.insert_config(task, config, 0, append.sequence)?;
        }
        Ok(!append.push_configs.is_empty())
    }

    /// Stores a configuration, or replaces the configuration with the same id. Returns `false` if the task does not
    /// exist.
    pub(super) fn put_config(
        &mut self,
        scope: &Scope,
        task: &TaskId,
        config: &ConfigRow,
        delivered: u64,
    ) -> GroupResult<bool> {
        let Some(mut head) = self.head(scope, task)? else { return Ok(false) };
        let key = head.task;
        self.insert_config(key, config, delivered.min(head.sequence), head.sequence)?;
        if !head.pushed {
            head.pushed = true;
            self.writer.connection.prepare_cached("UPDATE tasks SET pushed = 1 WHERE task = ?1")?.execute([key])?;
            self.changes.heads.insert(task.clone(), head);
        }
        self.note_released(key)?;
        Ok(true)
    }

    fn insert_config(&self, task: i64, config: &ConfigRow, delivered: u64, pending: u64) -> rusqlite::Result<()> {
        let mut statement = self.writer.connection.prepare_cached(
            "INSERT OR REPLACE INTO push_configs (task, id, config, format, delivered, pending, attempts, next_attempt) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)",
        )?;
        let now = Timestamp::now().as_millisecond();
        let ConfigRow { id, json, format } = config;
        let format = format.as_deref();
        statement.execute((task, id.as_str(), json, format, to_column(delivered), to_column(pending), now))?;
        Ok(())
    }

    /// Marks the records up to `sequence` as pending for all configurations of a task. Returns `false` if the task has
    /// none. A pending delivery keeps its time, and a new delivery is due now. Without an earlier failure, no delivery
    /// is due later than now, even if the clock was changed.
    pub(super) fn add_pending(&self, task: i64, sequence: u64) -> rusqlite::Result<bool> {
        let mut statement = self.writer.connection.prepare_cached(
            "UPDATE push_configs SET pending = ?2, \
             next_attempt = CASE WHEN pending <= delivered THEN ?3 WHEN attempts = 0 THEN min(next_attempt, ?3) \
             ELSE next_attempt END \
             WHERE task = ?1",
        )?;
        Ok(statement.execute((task, to_column(sequence), Timestamp::now().as_millisecond()))? > 0)
    }

    /// Deletes a configuration, if the configuration exists. Returns `false` if the task does not exist.
    pub(super) fn delete_config(&mut self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> GroupResult<bool> {
        let Some(head) = self.head(scope, task)? else { return Ok(false) };
        let connection = &self.writer.connection;
        connection
            .prepare_cached("DELETE FROM push_configs WHERE task = ?1 AND id = ?2")?
            .execute((head.task, id.as_str()))?;
        self.note_released(head.task)?;
        Ok(true)
    }

    /// Stores the result of a delivery. Returns `false` if the task does not exist. `delivered` never decreases, so a
    /// late result of an earlier attempt has no effect on it.
    pub(super) fn settle(&mut self, settlement: &PushSettlement) -> GroupResult<bool> {
        let Some(head) = self.head(&settlement.scope, &settlement.task)? else { return Ok(false) };
        let mut statement = self.writer.connection.prepare_cached(
            "UPDATE push_configs SET delivered = max(delivered, ?3), attempts = ?4, next_attempt = ?5, error = ?6 \
             WHERE task = ?1 AND id = ?2 RETURNING pending <= delivered",
        )?;
        let next_attempt = settlement.next_attempt.as_millisecond();
        let delivered = to_column(settlement.delivered);
        let mut settled = statement.query((
            head.task,
            settlement.id.as_str(),
            delivered,
            settlement.attempts,
            next_attempt,
            &settlement.error,
        ))?;
        let is_paid = settled.next()?.map(|row| row.get::<_, bool>(0)).transpose()?.unwrap_or_default();
        // SQLite completes the statement when all of its rows were read.
        while settled.next()?.is_some() {}
        drop(settled);
        drop(statement);
        if is_paid {
            self.note_released(head.task)?;
        }
        Ok(true)
    }

    /// Marks the log of a task as no longer needed, if the task does not run and has no pending deliveries.
    pub(super) fn note_released(&self, task: i64) -> rusqlite::Result<()> {
        let mut statement = self.writer.connection.prepare_cached(
            "UPDATE tasks SET released = ?2 WHERE task = ?1 AND NOT running AND released IS NULL \
             AND NOT EXISTS (SELECT 1 FROM push_configs WHERE task = ?1 AND pending > delivered)",
        )?;
        statement.execute((task, Timestamp::now().as_millisecond()))?;
        Ok(())
    }
}
