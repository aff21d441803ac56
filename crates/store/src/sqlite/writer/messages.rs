//! Stores message ids, so that duplicate messages are recognized.

use nuncio_model::{TaskId, Timestamp};
use rusqlite::OptionalExtension as _;

use super::{
    group::{GroupResult, GroupWriter},
    prune::RECORDS,
};
use crate::sqlite::{append::Append, queue::Removed};

/// The maximum number of expired message ids that are deleted for each new message id.
const FORGOTTEN: usize = 2;

impl GroupWriter<'_, '_> {
    /// The task that already has one of the messages of this commit.
    pub(super) fn duplicate(&self, scope: i64, append: &Append) -> GroupResult<Option<TaskId>> {
        let Some(remember) = &append.remember else { return Ok(None) };
        let since = remember.since.as_millisecond();
        let mut statement = self.writer.connection.prepare_cached(
            "SELECT tasks.id FROM messages JOIN tasks USING (task) \
             WHERE messages.scope = ?1 AND messages.id = ?2 AND at >= ?3",
        )?;
        for message in &remember.messages {
            // A task of this group may not be in the database yet.
            if let Some(task) = self.remembered.get(&(scope, message.clone())) {
                return Ok(Some(task.clone()));
            }
            let found = statement.query_row((scope, message.as_str(), since), |row| row.get::<_, String>(0));
            if let Some(task) = found.optional()? {
                return Ok(Some(task.into()));
            }
        }
        Ok(None)
    }

    /// Stores the message ids of a commit. None of the ids may be stored already.
    pub(super) fn remember(&mut self, scope: i64, task: i64, append: &Append) -> GroupResult<()> {
        let Some(remember) = &append.remember else { return Ok(()) };
        let mut statement =
            self.writer.connection.prepare_cached("INSERT OR REPLACE INTO messages VALUES (?1, ?2, ?3, ?4)")?;
        let now = Timestamp::now();
        for message in &remember.messages {
            statement.execute((scope, message.as_str(), task, now.as_millisecond()))?;
            self.remembered.insert((scope, message.clone()), append.id.clone());
        }
        self.forgotten_before = self.forgotten_before.max(Some(remember.since.min(now)));
        Ok(())
    }

    /// Deletes expired message ids, a few per id that this group has added, so that the table does not grow.
    pub(super) fn forget_messages(&self) -> GroupResult<()> {
        let Some(before) = self.forgotten_before else { return Ok(()) };
        self.forget_before(before, FORGOTTEN * self.remembered.len()).map(|_| ())
    }

    /// Deletes message ids that were stored before a time, at most as many as one write may delete.
    pub(super) fn forget_some(&self, before: Timestamp) -> GroupResult<Removed> {
        Ok(Removed { tasks: 0, rows: self.forget_before(before, RECORDS)? })
    }

    fn forget_before(&self, before: Timestamp, limit: usize) -> GroupResult<usize> {
        let mut statement = self.writer.connection.prepare_cached(
            "DELETE FROM messages WHERE (scope, id) IN \
             (SELECT scope, id FROM messages INDEXED BY messages_by_time WHERE at < ?1 ORDER BY at LIMIT ?2)",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Ok(statement.execute((before.as_millisecond(), limit))?)
    }
}
