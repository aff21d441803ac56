//! Purges old tasks, one scope after the other, because the index orders the tasks of each scope by state and time.

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

/// The number of scopes that one statement searches.
const SCOPES: i32 = 256;

/// The maximum number of old tasks per scope and state that one statement returns.
const FOUND: i64 = 250;

/// The maximum number of rows that one statement returns.
const ROWS: usize = 10_000;

/// The condition that a locked task must still meet; see [`Condition`].
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

/// The criteria for old tasks, as parameters of statements.
struct Old {
    tenant: Option<String>,
    except: Vec<String>,
    states: Vec<i16>,
    millisecond: i64,
    rest: i32,
}

/// A position in the order of scopes: a tenant and a caller. The scope need not exist.
type ScopePosition = (String, String);

/// The result of one search.
struct Page {
    tasks: Vec<String>,
    /// Whether the searched scopes have further old tasks.
    is_cut: bool,
    /// The position of the next scopes; `None` if there are no more scopes.
    next: Option<ScopePosition>,
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

    async fn look(&self, chores: &Chores, from: &ScopePosition) -> Result<Page, StoreError> {
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
                // The rows of a scope are consecutive.
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
        // No scope sorts between `caller` and `caller` followed by U+0001.
        let next = last.filter(|_| !is_last).map(|(tenant, caller)| (tenant.to_owned(), format!("{caller}\u{1}")));
        Ok(Page { tasks, is_cut: is_full || lists.values().any(|found| *found == FOUND), next })
    }
}

struct Sweep<'a> {
    old: Old,
    connector: &'a Connector,
    chores: &'a Chores,
    /// Created when the first task is deleted.
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
            // Tasks that were not deleted have changed since the search. If they are old again, the next purge deletes
            // them.
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
