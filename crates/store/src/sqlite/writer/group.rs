//! Executes one group of writes inside its transaction.

use nuncio_engine::StoreError;
use nuncio_model::{MessageId, TaskId, Timestamp};

use super::{
    Writer,
    heads::{Changes, Table},
    rows::{EVENTS, TASKS},
};
use crate::sqlite::{
    append::Append,
    columns::to_column,
    error::store_error,
    queue::{WriteOp, WriteOutcome, WriteOutput},
};

/// The reason why a group could not be written.
#[derive(Debug)]
pub(super) enum GroupError {
    /// A new task of the group exists already. Executing the writes singly finds the duplicate.
    Clash,
    /// The transaction did not begin, so no write of the group is the cause.
    NotBegun(rusqlite::Error),
    Sqlite(rusqlite::Error),
}

pub(super) type GroupResult<T> = Result<T, GroupError>;

impl From<rusqlite::Error> for GroupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<GroupError> for StoreError {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Clash => Self::Conflict,
            GroupError::NotBegun(error) | GroupError::Sqlite(error) => store_error(error),
        }
    }
}

pub(super) struct GroupWriter<'w, 'o> {
    pub(super) writer: &'w mut Writer,
    pub(super) changes: Changes,
    /// The tasks to insert, with their keys and the keys of their scopes.
    pub(super) new_tasks: Vec<NewTask<'o>>,
    /// The records to insert, with their keys.
    pub(super) new_events: Vec<(i64, &'o str)>,
    pub(super) totals: Table<(i64, i32), i64>,
    /// The messages that this group stores, by scope and id.
    pub(super) remembered: Table<(i64, MessageId), TaskId>,
    /// Message ids that were stored before this time may be deleted.
    pub(super) forgotten_before: Option<Timestamp>,
}

pub(super) struct NewTask<'o> {
    pub(super) task: i64,
    pub(super) scope: i64,
    pub(super) append: &'o Append,
}

impl<'w, 'o> GroupWriter<'w, 'o> {
    pub(super) fn new(writer: &'w mut Writer) -> Self {
        Self {
            writer,
            changes: Changes::default(),
            new_tasks: Vec::new(),
            new_events: Vec::new(),
            totals: Table::default(),
            remembered: Table::default(),
            forgotten_before: None,
        }
    }

    /// Executes all writes. After an error, the caller rolls back the transaction.
    pub(super) fn write(mut self, ops: &'o [WriteOp]) -> GroupResult<(Vec<WriteOutcome>, Changes)> {
        let mut outcomes = Vec::with_capacity(ops.len());
        for op in ops {
            outcomes.push(self.apply(op)?);
        }
        self.flush()?;
        self.write_totals()?;
        self.drop_empty_scopes()?;
        self.forget_messages()?;
        Ok((outcomes, self.changes))
    }

    fn apply(&mut self, op: &'o WriteOp) -> GroupResult<WriteOutcome> {
        let found = match op {
            WriteOp::Append(append) if append.expected == 0 => return self.create(append),
            WriteOp::Append(append) => return self.append(append),
            WriteOp::Claim { scope, id } => return Ok(Ok(self.claim(scope, id)?)),
            WriteOp::PutConfig { scope, task, config, delivered } => {
                self.put_config(scope, task, config, *delivered)?
            }
            WriteOp::DeleteConfig { scope, task, id } => self.delete_config(scope, task, id)?,
            WriteOp::Settle(settlement) => self.settle(settlement)?,
            WriteOp::Delete { tasks, purge } => {
                return Ok(Ok(WriteOutput::Removed(self.delete(tasks, purge.as_ref())?)));
            }
            WriteOp::Sweep => return Ok(Ok(WriteOutput::Removed(self.sweep()?))),
            WriteOp::Compact { before, limit } => return Ok(Ok(WriteOutput::Removed(self.compact(*before, *limit)?))),
            WriteOp::Forget { before } => return Ok(Ok(WriteOutput::Removed(self.forget_some(*before)?))),
            WriteOp::Serve(agent) => self.serve(agent).map(|()| true)?,
            WriteOp::Probe => self.probe().map(|()| true)?,
            WriteOp::Close | WriteOp::EmptyLog => true,
        };
        Ok(Ok(WriteOutput::Found(found)))
    }

    /// Inserts the collected rows.
    pub(super) fn flush(&mut self) -> GroupResult<()> {
        let connection = &self.writer.connection;
        let epoch = to_column(self.writer.epoch);
        let inserted = TASKS.insert(connection, &self.new_tasks, |statement, first, new| {
            let NewTask { task, scope, append } = new;
            let body = append.snapshot.as_ref().map(|snapshot| &snapshot.body).filter(|body| body.is_small());
            let pushed = !append.push_configs.is_empty();
            let folded = append.snapshot.as_ref().map_or(0, |_| to_column(append.sequence));
            statement.raw_bind_parameter(first, task)?;
            statement.raw_bind_parameter(first + 1, append.id.as_str())?;
            statement.raw_bind_parameter(first + 2, scope)?;
            statement.raw_bind_parameter(first + 3, append.context.as_str())?;
            statement.raw_bind_parameter(first + 4, append.state.number())?;
            statement.raw_bind_parameter(first + 5, append.updated.millisecond)?;
            statement.raw_bind_parameter(first + 6, append.updated.rest)?;
            statement.raw_bind_parameter(first + 7, to_column(append.sequence))?;
            statement.raw_bind_parameter(first + 8, epoch)?;
            statement.raw_bind_parameter(first + 9, !append.released)?;
            statement.raw_bind_parameter(first + 10, pushed)?;
            statement.raw_bind_parameter(first + 11, folded)?;
            statement.raw_bind_parameter(first + 12, body.map(|body| &body.task))?;
            statement.raw_bind_parameter(first + 13, body.and_then(|body| body.artifacts.as_ref()))
        })?;
        if inserted < self.new_tasks.len() {
            return Err(GroupError::Clash);
        }
        self.new_tasks.clear();
        EVENTS.insert(connection, &self.new_events, |statement, first, (key, body)| {
            statement.raw_bind_parameter(first, key)?;
            statement.raw_bind_parameter(first + 1, body)
        })?;
        self.new_events.clear();
        Ok(())
    }

    fn serve(&self, agent: &str) -> GroupResult<()> {
        self.writer.connection.execute("UPDATE store SET agent = ?1", [agent])?;
        Ok(())
    }

    /// Executes a write without an effect.
    fn probe(&self) -> GroupResult<()> {
        self.writer.connection.execute("UPDATE store SET openings = openings", [])?;
        Ok(())
    }
}
