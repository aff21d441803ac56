//! The statements of housekeeping. They use a separate connection, so that no read waits behind them. They work in
//! portions, so that no statement takes long. After a failure, the next portion is smaller.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use nuncio_engine::StoreError;
use tokio_postgres::types::ToSql;

use super::{links::Links, read::value, session::Connector, statements::Sql, text::ScopeColumns};
use crate::columns;

/// The maximum number of record rows that one statement deletes.
const PORTION: usize = 5_000;

/// The maximum number of tasks of which one statement deletes logs.
const LOGS: usize = 128;

/// The maximum number of message ids that one statement deletes.
const MESSAGES: usize = 1_024;

pub(super) struct Chores {
    links: Links,
    /// The current portion size in rows. A failed statement decreases the size; a successful statement increases it.
    portion: AtomicUsize,
}

/// The result of one portion.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dropped {
    pub(super) rows: usize,
    /// The number of tasks that need no further deletion.
    pub(super) tasks: usize,
    /// The number of tasks that had remaining records before the statement.
    pub(super) left: usize,
}

impl Dropped {
    pub(super) fn is_nothing(self) -> bool {
        self.rows == 0 && self.tasks == 0
    }
}

impl Chores {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { links: Links::new(connector, 1), portion: AtomicUsize::new(PORTION) }
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Deletes records of tasks that were released before a time, of at most `tasks` tasks. Records of tasks with
    /// pending deliveries stay. With `put_off`, the release time of such tasks is set to this time.
    pub(super) async fn drop_logs(
        &self,
        before: i64,
        put_off: Option<i64>,
        tasks: usize,
    ) -> Result<Dropped, StoreError> {
        let tasks = columns::to_column(tasks.min(LOGS) as u64);
        self.drop_rows(Sql::Prune, &[&before, &put_off, &tasks]).await
    }

    /// Deletes remaining records of deleted tasks: of these tasks, or of any.
    pub(super) async fn drain(&self, tasks: Option<&[String]>) -> Result<Dropped, StoreError> {
        self.drop_rows(Sql::Drain, &[&tasks]).await
    }

    /// Executes a statement whose last parameter is the maximum number of rows.
    async fn drop_rows(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Dropped, StoreError> {
        let portion = self.portion.load(Ordering::Relaxed);
        let rows = columns::to_column(portion as u64);
        let values: Vec<_> = values.iter().copied().chain([&rows as &(dyn ToSql + Sync)]).collect();
        let dropped = self.links.query(sql, &values).await;
        // The size increases slowly, because a portion that is too large blocks all other housekeeping.
        let next = if dropped.is_ok() { (portion + portion / 16 + 1).min(PORTION) } else { (portion / 4).max(1) };
        self.portion.store(next, Ordering::Relaxed);
        let dropped = dropped?;
        let Some(row) = dropped.first() else { return Ok(Dropped::default()) };
        let count = |column| value::<i64>(row, column).map(|count| usize::try_from(count).unwrap_or_default());
        Ok(Dropped { rows: count(0)?, tasks: count(1)?, left: if row.len() > 2 { count(2)? } else { 0 } })
    }

    /// Deletes message ids that were stored before a time, in milliseconds since 1970. Returns whether there may be
    /// more.
    pub(super) async fn forget_messages(&self, before: i64) -> Result<bool, StoreError> {
        let most = columns::to_column(MESSAGES as u64);
        Ok(self.links.query(Sql::Forget, &[&before, &most]).await?.len() == MESSAGES)
    }

    /// Sums up the totals of these scopes. Afterwards, each scope has one row for each state in which it has tasks, and
    /// the rows that other commits add meanwhile.
    pub(super) async fn sum_up(&self, scopes: &[ScopeColumns]) -> Result<(), StoreError> {
        if scopes.is_empty() {
            return Ok(());
        }
        let (tenants, callers) = in_columns(scopes);
        self.links.query_once(Sql::SumUp, &[&tenants, &callers]).await.map(|_| ())
    }

    /// The scopes with more than `rows` rows of totals for a state, or with rows that sum to zero; at most 1,000
    /// scopes.
    pub(super) async fn crowded_scopes(&self, rows: u32) -> Result<Vec<ScopeColumns>, StoreError> {
        scopes(&self.links.query(Sql::CrowdedScopes, &[&i64::from(rows)]).await?)
    }

    /// The scopes among these that have rows of totals for a state without tasks.
    pub(super) async fn without_tasks(&self, among: &[ScopeColumns]) -> Result<Vec<ScopeColumns>, StoreError> {
        let (tenants, callers) = in_columns(among);
        scopes(&self.links.query(Sql::ScopesWithoutTasks, &[&tenants, &callers]).await?)
    }
}

fn in_columns(scopes: &[ScopeColumns]) -> (Vec<&str>, Vec<&str>) {
    scopes.iter().map(|scope| (&*scope.tenant, &*scope.caller)).unzip()
}

fn scopes(rows: &[tokio_postgres::Row]) -> Result<Vec<ScopeColumns>, StoreError> {
    rows.iter().map(|row| Ok(ScopeColumns { tenant: value(row, 0)?, caller: value(row, 1)? })).collect()
}
