//! Commits to logs and claims of tasks.

use std::sync::LazyLock;

use nuncio_engine::{StoreError, store::Committed};
use nuncio_model::{Scope, TaskId, Timestamp};
use rusqlite::ToSql;

use super::{
    group::{GroupResult, GroupWriter, NewTask},
    heads::Head,
};
use crate::sqlite::{
    append::{Append, Snapshot},
    columns::{event_key, to_column},
    queue::{WriteOutcome, WriteOutput},
};

impl<'o> GroupWriter<'_, 'o> {
    /// Creates a task. Whether the id is new is known when the row is inserted.
    pub(super) fn create(&mut self, append: &'o Append) -> GroupResult<WriteOutcome> {
        let is_remembered = self.writer.heads.contains_key(&append.id) && !self.changes.gone.contains(&append.id);
        let is_known = is_remembered || self.changes.heads.contains_key(&append.id);
        let scope = self.scope_key(&append.scope)?;
        let Some(scope) = scope.filter(|_| !is_known) else { return Ok(Err(StoreError::Conflict)) };
        if let Some(other) = self.duplicate(scope, append)? {
            return Ok(Err(StoreError::Duplicate(other)));
        }
        let task = self.writer.next_task;
        self.writer.next_task += 1;
        self.remember(scope, task, append)?;
        let head = Head {
            scope: append.scope.clone(),
            task,
            scope_key: scope,
            state: append.state,
            updated: append.updated,
            sequence: append.sequence,
            epoch: self.writer.epoch,
            running: !append.released,
            pushed: !append.push_configs.is_empty(),
            is_big: append.snapshot.as_ref().is_some_and(|snapshot| !snapshot.body.is_small()),
        };
        self.new_tasks.push(NewTask { task, scope, append });
        if let Some(snapshot) = append.snapshot.as_ref().filter(|_| head.is_big) {
            self.write_big(task, snapshot)?;
        }
        self.new_events.extend(append.records.as_ref().map(|body| (event_key(task, append.sequence), &**body)));
        self.count(scope, append.state, 1);
        let has_pending_push = self.add_configs(task, append)?;
        if append.released && append.records.is_some() && !has_pending_push {
            self.flush()?;
            self.note_released(task)?;
        }
        self.changes.heads.insert(append.id.clone(), head);
        Ok(Ok(WriteOutput::Committed(Committed { epoch: self.writer.epoch, has_pending_push })))
    }

    /// Appends to a log.
    pub(super) fn append(&mut self, append: &'o Append) -> GroupResult<WriteOutcome> {
        let head = self.head(&append.scope, &append.id)?;
        let may_write = |head: &Head| head.sequence == append.expected && head.epoch == append.epoch;
        let Some(mut head) = head.filter(may_write) else { return Ok(Err(StoreError::Conflict)) };
        if let Some(other) = self.duplicate(head.scope_key, append)? {
            return Ok(Err(StoreError::Duplicate(other)));
        }
        self.remember(head.scope_key, head.task, append)?;
        self.new_events.extend(append.records.as_ref().map(|body| (event_key(head.task, append.sequence), &**body)));
        if head.state != append.state {
            self.count(head.scope_key, head.state, -1);
            self.count(head.scope_key, append.state, 1);
        }
        let snapshot = append.snapshot.as_ref();
        match snapshot {
            Some(snapshot) if !snapshot.body.is_small() => self.write_big(head.task, snapshot)?,
            Some(_) if head.is_big => self.drop_big(head.task)?,
            _ => {}
        }
        let has_pending_push = head.pushed && self.add_pending(head.task, append.sequence)?;
        self.update(&head, append, has_pending_push)?;
        if append.released && head.pushed {
            self.note_released(head.task)?;
        }
        head.sequence = append.sequence;
        head.state = append.state;
        head.updated = append.updated;
        head.running = !append.released;
        head.is_big = snapshot.map_or(head.is_big, |snapshot| !snapshot.body.is_small());
        self.changes.heads.insert(append.id.clone(), head);
        Ok(Ok(WriteOutput::Committed(Committed { epoch: self.writer.epoch, has_pending_push })))
    }

    /// Makes this process the owner of a task, if the task exists and has not ended. Returns whether the task was
    /// running: in an earlier process, or in this process with a runner that has ended.
    pub(super) fn claim(&mut self, scope: &Scope, id: &TaskId) -> GroupResult<WriteOutput> {
        let Some(mut head) = self.head(scope, id)? else { return Ok(WriteOutput::Found(false)) };
        let abandoned = head.running;
        if head.epoch != self.writer.epoch && !head.state.is_terminal() {
            head.epoch = self.writer.epoch;
            let mut statement = self.writer.connection.prepare_cached("UPDATE tasks SET epoch = ?2 WHERE task = ?1")?;
            statement.execute((head.task, to_column(head.epoch)))?;
            drop(statement);
            self.changes.heads.insert(id.clone(), head);
        }
        Ok(WriteOutput::Claimed(abandoned))
    }

    /// Writes the changed columns of a row. Indexes of unchanged columns are not updated.
    fn update(&self, head: &Head, append: &Append, has_pending_push: bool) -> rusqlite::Result<()> {
        let status = head.state != append.state || head.updated != append.updated;
        // In the common case, the task was running and still runs.
        let running = append.released || !head.running;
        let (sequence, state) = (to_column(append.sequence), append.state.number());
        let released = (append.released && !has_pending_push).then(|| Timestamp::now().as_millisecond());
        let body = append.snapshot.as_ref().map(|it| &it.body).filter(|body| body.is_small());
        let (task_body, artifacts) = (body.map(|it| &it.task), body.and_then(|it| it.artifacts.as_ref()));
        let mut values: Vec<&dyn ToSql> = vec![&head.task, &sequence];
        if status {
            values.extend([&state as &dyn ToSql, &append.updated.millisecond, &append.updated.rest]);
        }
        let is_running = !append.released;
        if running {
            values.extend([&is_running as &dyn ToSql, &released]);
        }
        if append.snapshot.is_some() {
            values.extend([&sequence as &dyn ToSql, &task_body, &artifacts]);
        }
        let sql = &UPDATES[variant(status, running, append.snapshot.is_some())];
        self.writer.connection.prepare_cached(sql)?.execute(&*values)?;
        Ok(())
    }

    fn write_big(&self, task: i64, snapshot: &Snapshot) -> rusqlite::Result<()> {
        let mut statement =
            self.writer.connection.prepare_cached("INSERT OR REPLACE INTO bodies VALUES (?1, ?2, ?3)")?;
        statement.execute((task, &snapshot.body.task, &snapshot.body.artifacts))?;
        Ok(())
    }

    fn drop_big(&self, task: i64) -> rusqlite::Result<()> {
        self.writer.connection.prepare_cached("DELETE FROM bodies WHERE task = ?1")?.execute([task])?;
        Ok(())
    }
}

fn variant(status: bool, running: bool, snapshot: bool) -> usize {
    usize::from(status) | usize::from(running) << 1 | usize::from(snapshot) << 2
}

/// The update statements, by the columns that they write.
static UPDATES: LazyLock<[String; 8]> = LazyLock::new(|| {
    let mut updates = [const { String::new() }; 8];
    for (number, update) in updates.iter_mut().enumerate() {
        let mut set = vec!["sequence"];
        if number & 1 != 0 {
            set.extend(["state", "updated", "updated_rest"]);
        }
        if number & 2 != 0 {
            set.extend(["running", "released"]);
        }
        if number & 4 != 0 {
            set.extend(["folded", "body", "artifacts"]);
        }
        let set: Vec<_> = set.iter().zip(2..).map(|(column, number)| format!("{column} = ?{number}")).collect();
        *update = format!("UPDATE tasks SET {} WHERE task = ?1", set.join(", "));
    }
    updates
});
