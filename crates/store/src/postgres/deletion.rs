//! Deletes tasks while nodes write to them.
//!
//! One statement locks the tasks and a second statement deletes them. The second statement sees everything that was
//! committed before the locks. A single statement would not: if it had to wait for a commit, it would not delete the
//! new rows of this commit. The tasks are locked in the order in which commits lock them. Their records are deleted
//! afterwards, in portions.

use std::{collections::BTreeSet, time::Duration};

use nuncio_engine::StoreError;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Error, IsolationLevel, Row, error::SqlState, types::ToSql};

use super::{
    chores::Chores,
    error::{store_error, unavailable},
    session::{Connector, Driver},
    text::ScopeColumns,
};

/// The maximum number of tasks per step. The rows of these tasks are locked for a time in which a few commits could
/// run.
pub(super) const STEP: usize = 100;

/// How many times a step is repeated after a lock conflict or a timeout, and the pause between.
const TRIES: (u32, Duration) = (8, Duration::from_millis(50));

/// How long another process may take to delete the records of the same tasks.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

const DELETE: &str = include_str!("sql/delete.sql");

/// The condition for deleting a task; `None` deletes all given tasks.
pub(super) struct Condition<'a> {
    /// The condition in SQL. Its parameters are numbered from 2.
    pub(super) holds: &'a str,
    pub(super) values: Vec<&'a (dyn ToSql + Sync)>,
}

/// A connection for deletions.
pub(super) struct Deletion<'a> {
    connector: &'a Connector,
    chores: &'a Chores,
    client: Client,
    _driver: Driver,
    step: usize,
    /// The scopes of the deleted tasks.
    scopes: BTreeSet<(String, String)>,
}

impl<'a> Deletion<'a> {
    pub(super) async fn begin(connector: &'a Connector, chores: &'a Chores) -> Result<Self, StoreError> {
        let (client, driver) = connector.connect_bare().await.map_err(unavailable)?;
        Ok(Self { connector, chores, client, _driver: driver, step: STEP, scopes: BTreeSet::new() })
    }

    /// The tasks that a query returns in its first column.
    pub(super) async fn find(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<String>, StoreError> {
        let rows = timeout(self.connector.options.answer_timeout, self.client.query(sql, values)).await;
        first_column(&rows.map_err(unavailable)?.map_err(store_error)?).map_err(store_error)
    }

    /// Deletes the tasks that meet the condition, with all of their data. Returns the number of deleted tasks. With a
    /// condition, a task stays if a node writes to the task at this moment, or if deliveries are pending.
    pub(super) async fn delete(
        &mut self,
        mut tasks: &[String],
        condition: Option<&Condition<'_>>,
    ) -> Result<usize, StoreError> {
        let (mut gone, mut tries) = (0, 0);
        while !tasks.is_empty() {
            let (now, later) = tasks.split_at(self.step.min(tasks.len()));
            let step = timeout(self.connector.options.answer_timeout, step(&mut self.client, now, condition)).await;
            match step.map_err(unavailable)? {
                Ok((deleted, scopes)) => {
                    gone += deleted;
                    self.scopes.extend(scopes);
                    self.drain(now).await?;
                    (tasks, tries) = (later, 0);
                    self.step = STEP.min(2 * self.step);
                }
                Err(error) if tries < TRIES.0 && may_go_later(&error) => {
                    tries += 1;
                    self.step = (self.step / 4).max(1);
                    sleep(TRIES.1).await;
                }
                Err(error) => return Err(store_error(error)),
            }
        }
        Ok(gone)
    }

    /// Deletes the remaining records of these tasks.
    async fn drain(&self, tasks: &[String]) -> Result<(), StoreError> {
        let (deadline, mut tries) = (Instant::now() + DRAIN_TIMEOUT, 0);
        loop {
            match self.chores.drain(Some(tasks)).await {
                Ok(dropped) if dropped.left <= dropped.tasks => return Ok(()),
                // Another node is deleting these records.
                Ok(dropped) if dropped.is_nothing() && Instant::now() < deadline => sleep(TRIES.1).await,
                Ok(dropped) if dropped.is_nothing() => {
                    return Err(unavailable(
                        "cannot delete the records of deleted tasks in time; housekeeping deletes them later",
                    ));
                }
                Ok(_) => tries = 0,
                Err(error) if tries == TRIES.0 => return Err(error),
                Err(_) => tries += 1,
            }
        }
    }

    /// Removes the rows of totals of scopes that have no tasks any more, so that their names are no longer stored.
    pub(super) async fn end(self) -> Result<(), StoreError> {
        let mut left: Vec<_> =
            self.scopes.into_iter().map(|(tenant, caller)| ScopeColumns { tenant, caller }).collect();
        for tries in 0..=TRIES.0 {
            let mut empty = Vec::new();
            for scopes in left.chunks(STEP) {
                self.chores.sum_up(scopes).await?;
                empty.extend(self.chores.without_tasks(scopes).await?);
            }
            left = empty;
            if left.is_empty() || tries == TRIES.0 {
                // Housekeeping removes the rest.
                break;
            }
            sleep(TRIES.1).await;
        }
        Ok(())
    }
}

/// Locks and deletes tasks. Returns the number of deleted tasks and their scopes.
async fn step(
    client: &mut Client,
    tasks: &[String],
    condition: Option<&Condition<'_>>,
) -> Result<(usize, Vec<(String, String)>), Error> {
    let (holds, waits) = condition.map_or(("true", ""), |condition| (condition.holds, " SKIP LOCKED"));
    let lock = format!("SELECT id FROM tasks WHERE id = ANY ($1::text[]) AND {holds} ORDER BY id FOR UPDATE{waits}");
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tasks];
    values.extend(condition.iter().flat_map(|condition| &condition.values));
    let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
    let locked = first_column(&transaction.query(&lock, &values).await?)?;
    let rows = transaction.query(DELETE, &[&locked, &condition.is_none()]).await?;
    let (mut deleted, mut scopes) = (0, Vec::with_capacity(rows.len()));
    for row in &rows {
        deleted += usize::try_from(row.try_get::<_, i64>(2)?).unwrap_or_default();
        scopes.push((row.try_get(0)?, row.try_get(1)?));
    }
    transaction.commit().await?;
    Ok((deleted, scopes))
}

fn first_column(rows: &[Row]) -> Result<Vec<String>, Error> {
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Whether the statement may succeed later or with fewer tasks.
fn may_go_later(error: &Error) -> bool {
    [SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED]
        .iter()
        .any(|code| error.code() == Some(code))
}
