//! Deletes tasks that are old: scope by scope, as each has its tasks by state and time.

use std::collections::HashMap;

use nuncio_engine::{StoreError, store::Purge};
use tokio_postgres::types::ToSql;

use super::{
    chores::Chores,
    committer::state_column,
    deletion::{Condition, Deletion},
    read::value,
    session::Connector,
    statements::Sql,
    text::to_column,
};
use crate::columns::Moment;

/// Scopes that are looked at in one statement.
const SCOPES: i32 = 256;

/// Old tasks of one state that are found in a scope at a time.
const FOUND: i64 = 250;

/// Rows that a look gives, at most.
const ROWS: usize = 10_000;

/// What a purge asks of a task that is locked; see [`Condition`].
const IS_OLD: &str = "owner IS NULL AND state = ANY ($2::int2[]) AND (updated, updated_rest) < ($3::int8, $4::int4)";

/// Deletes old tasks.
pub(super) async fn purge(connector: &Connector, chores: &Chores, purge: &Purge) -> Result<usize, StoreError> {
    let mut sweep = Sweep { old: Old::new(purge), connector, chores, deletion: None };
    let purged = sweep.run(purge.limit).await;
    let ended = match sweep.deletion {
        Some(deletion) => deletion.end().await,
        None => Ok(()),
    };
    let purged = purged?;
    ended.map(|()| purged)
}

/// Which tasks are old, as values of statements.
struct Old {
    tenant: Option<String>,
    except: Vec<String>,
    states: Vec<i16>,
    millisecond: i64,
    rest: i32,
}

/// A place among scopes: a tenant and a caller, or what would come before them.
type Place = (String, String);

/// What a look has found.
struct Page {
    tasks: Vec<String>,
    /// Whether more is old of the scopes that were looked at.
    is_cut: bool,
    /// Where the next scopes begin; `None` where there are no more.
    next: Option<Place>,
}

impl Old {
    fn new(purge: &Purge) -> Self {
        let before = Moment::from(purge.before);
        Self {
            tenant: purge.tenant.as_ref().map(|tenant| to_column(tenant.as_str()).into_owned()),
            except: purge.except.iter().map(|tenant| to_column(tenant.as_str()).into_owned()).collect(),
            states: purge.states.iter().map(|state| state_column(*state)).collect(),
            millisecond: before.millisecond,
            rest: i32::try_from(before.rest).unwrap_or_default(),
        }
    }

    async fn look(&self, chores: &Chores, from: &Place) -> Result<Page, StoreError> {
        let rows = i64::try_from(ROWS).unwrap_or(i64::MAX);
        let mut values: Vec<&(dyn ToSql + Sync)> =
            vec![&from.0, &from.1, &SCOPES, &self.states, &self.millisecond, &self.rest, &FOUND, &self.except, &rows];
        let sql = match &self.tenant {
            Some(tenant) => {
                values.push(tenant);
                Sql::OldOfTenant
            }
            None => Sql::Old,
        };
        let rows = chores.links().query(sql, &values).await?;
        let (mut tasks, mut lists, mut last, mut scopes) = (Vec::new(), HashMap::new(), None, 0);
        for row in &rows {
            let scope: (&str, &str) = (value(row, 0)?, value(row, 1)?);
            if last != Some(scope) {
                // They come one behind the other.
                scopes += 1;
                last = Some(scope);
            }
            if let (Some(state), Some(id)) = (value::<Option<i16>>(row, 2)?, value::<Option<&str>>(row, 3)?) {
                tasks.push(id.to_owned());
                *lists.entry((scope, state)).or_insert(0) += 1;
            }
        }
        let is_full = rows.len() == ROWS;
        let is_last = scopes < SCOPES && !is_full;
        // U+0001 is the least that can come behind a name.
        let next = last.filter(|_| !is_last).map(|(tenant, caller)| (tenant.to_owned(), format!("{caller}\u{1}")));
        Ok(Page { tasks, is_cut: is_full || lists.values().any(|found| *found == FOUND), next })
    }
}

struct Sweep<'a> {
    old: Old,
    connector: &'a Connector,
    chores: &'a Chores,
    /// Made when there is something to delete.
    deletion: Option<Deletion<'a>>,
}

impl Sweep<'_> {
    async fn run(&mut self, limit: usize) -> Result<usize, StoreError> {
        let mut from = (self.old.tenant.clone().unwrap_or_default(), String::new());
        let mut purged = 0;
        loop {
            let Page { mut tasks, is_cut, next } = self.old.look(self.chores, &from).await?;
            tasks.truncate(limit - purged);
            let went = self.delete(&tasks).await?;
            purged += went;
            if purged == limit {
                return Ok(purged);
            }
            // Those that stay have changed since they were found; if they are old again, it is for the next time.
            match next {
                _ if is_cut && went > 0 => {}
                Some(next) => from = next,
                None => return Ok(purged),
            }
        }
    }

    async fn delete(&mut self, tasks: &[String]) -> Result<usize, StoreError> {
        if tasks.is_empty() {
            return Ok(0);
        }
        let deletion = match &mut self.deletion {
            Some(deletion) => deletion,
            none => none.insert(Deletion::begin(self.connector, self.chores).await?),
        };
        let values: Vec<&(dyn ToSql + Sync)> = vec![&self.old.states, &self.old.millisecond, &self.old.rest];
        deletion.delete(tasks, Some(&Condition { holds: IS_OLD, values })).await
    }
}
