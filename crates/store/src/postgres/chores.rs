//! What housekeeping says to the server: on a connection of its own, so that nobody's read waits behind it, and in
//! portions, so that no statement takes long. A portion that was too big is tried again as a smaller one.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use nuncio_engine::StoreError;
use tokio_postgres::types::ToSql;

use super::{links::Links, read::value, session::Connector, statements::Sql, text::ScopeColumns};
use crate::columns;

/// Rows of records that are dropped in one statement, at most.
const PORTION: usize = 5_000;

/// Tasks whose logs are dropped in one statement, at most.
const LOGS: usize = 128;

/// Messages that are forgotten in one statement, at most.
const MESSAGES: usize = 1_024;

pub(super) struct Chores {
    links: Links,
    /// How many rows go now: fewer after a statement that failed, more after one that did not.
    portion: AtomicUsize,
}

/// What a portion took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dropped {
    pub(super) rows: usize,
    /// Tasks of which nothing more has to go.
    pub(super) tasks: usize,
    /// Tasks of which something was left before.
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

    /// Drops records of tasks that were let go of before a time, of at most so many. Those of a task that has pending records
    /// stay; where there is a time to `put_off` to, it counts as let go of then.
    pub(super) async fn drop_logs(
        &self,
        before: i64,
        put_off: Option<i64>,
        tasks: usize,
    ) -> Result<Dropped, StoreError> {
        let tasks = columns::to_column(tasks.min(LOGS) as u64);
        self.drop_rows(Sql::Prune, &[&before, &put_off, &tasks]).await
    }

    /// Drops records that deleted tasks have left: these, or any.
    pub(super) async fn drain(&self, tasks: Option<&[String]>) -> Result<Dropped, StoreError> {
        self.drop_rows(Sql::Drain, &[&tasks]).await
    }

    /// Says a statement whose last value is how many rows may go.
    async fn drop_rows(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Dropped, StoreError> {
        let portion = self.portion.load(Ordering::Relaxed);
        let rows = columns::to_column(portion as u64);
        let values: Vec<_> = values.iter().copied().chain([&rows as &(dyn ToSql + Sync)]).collect();
        let dropped = self.links.query(sql, &values).await;
        // Slowly back: the next that is too big is a pause for all else.
        let next = if dropped.is_ok() { (portion + portion / 16 + 1).min(PORTION) } else { (portion / 4).max(1) };
        self.portion.store(next, Ordering::Relaxed);
        let dropped = dropped?;
        let Some(row) = dropped.first() else { return Ok(Dropped::default()) };
        let count = |column| value::<i64>(row, column).map(|count| usize::try_from(count).unwrap_or_default());
        Ok(Dropped { rows: count(0)?, tasks: count(1)?, left: if row.len() > 2 { count(2)? } else { 0 } })
    }

    /// Forgets messages that were remembered before a time, in milliseconds since 1970. Whether there may be more.
    pub(super) async fn forget_messages(&self, before: i64) -> Result<bool, StoreError> {
        let most = columns::to_column(MESSAGES as u64);
        Ok(self.links.query(Sql::Forget, &[&before, &most]).await?.len() == MESSAGES)
    }

    /// Sums up the totals of these scopes: each then has a row for each state that tasks are in, but for what others
    /// add meanwhile.
    pub(super) async fn sum_up(&self, scopes: &[ScopeColumns]) -> Result<(), StoreError> {
        if scopes.is_empty() {
            return Ok(());
        }
        let (tenants, callers) = in_columns(scopes);
        self.links.query_once(Sql::SumUp, &[&tenants, &callers]).await.map(|_| ())
    }

    /// The scopes whose totals have more rows for a state than this, or any for no task at all: a thousand at most.
    pub(super) async fn crowded(&self, rows: u32) -> Result<Vec<ScopeColumns>, StoreError> {
        scopes(&self.links.query(Sql::Crowded, &[&i64::from(rows)]).await?)
    }

    /// Those of these scopes whose totals name a state that no task is in.
    pub(super) async fn nobodys(&self, among: &[ScopeColumns]) -> Result<Vec<ScopeColumns>, StoreError> {
        let (tenants, callers) = in_columns(among);
        scopes(&self.links.query(Sql::Nobodys, &[&tenants, &callers]).await?)
    }
}

fn in_columns(scopes: &[ScopeColumns]) -> (Vec<&str>, Vec<&str>) {
    scopes.iter().map(|scope| (&*scope.tenant, &*scope.caller)).unzip()
}

fn scopes(rows: &[tokio_postgres::Row]) -> Result<Vec<ScopeColumns>, StoreError> {
    rows.iter().map(|row| Ok(ScopeColumns { tenant: value(row, 0)?, caller: value(row, 1)? })).collect()
}
