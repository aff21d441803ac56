//! The reads of housekeeping: old tasks, tasks to erase, parked tasks, and a scan of all tasks.

use nuncio_engine::{
    StoreError,
    store::{Erase, Orphan, Purge, ScanPage, Scanned, Unreadable},
};
use nuncio_model::{Principal, Scope, TaskId, TaskState, Tenant, Timestamp};
use rusqlite::{Connection, Params, Row};

use super::{pushes, task};
use crate::sqlite::{
    columns::{self, Moment, to_column},
    error::{corrupt, store_error},
    queue::Candidate,
};

/// The old tasks, by scope and state. Parameter 1 is a bit set of states.
const OLD: &str = "SELECT tasks.task, tasks.id, tenant, caller \
    FROM totals CROSS JOIN scopes ON scopes.scope = totals.scope \
    CROSS JOIN tasks INDEXED BY tasks_by_state ON tasks.scope = totals.scope AND tasks.state = totals.state \
    WHERE totals.tasks > 0 AND ?1 >> totals.state & 1 AND (updated, updated_rest) < (?2, ?3) \
    AND tenant NOT IN (SELECT value FROM json_each(?4)) AND NOT running \
    AND NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE push_configs.task = tasks.task AND pending > delivered)) \
    LIMIT ?5";
/// The old tasks of one tenant.
const OLD_OF_TENANT: &str = "SELECT tasks.task, tasks.id, tenant, caller \
    FROM scopes CROSS JOIN totals ON totals.scope = scopes.scope \
    CROSS JOIN tasks INDEXED BY tasks_by_state ON tasks.scope = totals.scope AND tasks.state = totals.state \
    WHERE totals.tasks > 0 AND ?1 >> totals.state & 1 AND (updated, updated_rest) < (?2, ?3) \
    AND tenant NOT IN (SELECT value FROM json_each(?4)) AND NOT running \
    AND NOT (pushed AND EXISTS (SELECT 1 FROM push_configs WHERE push_configs.task = tasks.task AND pending > delivered)) \
    AND tenant = ?6 LIMIT ?5";
const OF_TENANT: &str = "SELECT task, id, tenant, caller FROM scopes CROSS JOIN tasks INDEXED BY tasks_by_state \
    USING (scope) WHERE tenant = ?1 LIMIT ?2";
const OF_SCOPE: &str = "SELECT task, id, tenant, caller FROM scopes CROSS JOIN tasks INDEXED BY tasks_by_state \
    USING (scope) WHERE tenant = ?1 AND caller = ?2 LIMIT ?3";
const OF_CONTEXT: &str = "SELECT task, id, tenant, caller FROM scopes CROSS JOIN tasks INDEXED BY tasks_by_context \
    USING (scope) WHERE tenant = ?1 AND caller = ?2 AND context = ?3 LIMIT ?4";
const ONE: &str = "SELECT task, id, tenant, caller FROM tasks JOIN scopes USING (scope) \
    WHERE id = ?1 AND tenant = ?2 AND caller = ?3";
const PARKED: &str = "SELECT updated, updated_rest, id, tenant, caller \
    FROM tasks INDEXED BY tasks_parked CROSS JOIN scopes USING (scope) \
    WHERE state = ?1 AND (updated, updated_rest) < (?2, ?3) \
    AND NOT running AND state <> 3 AND state <> 4 AND state <> 5 AND state <> 7 \
    ORDER BY updated, updated_rest, task LIMIT ?4";
const ALL: &str = "SELECT task, id, tenant, caller FROM tasks CROSS JOIN scopes USING (scope) \
    WHERE task > ?1 ORDER BY task LIMIT ?2";

/// Old tasks, at most `limit`.
pub(in crate::sqlite) fn old(
    connection: &Connection,
    purge: &Purge,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let states = purge.states.iter().fold(0_i64, |states, state| states | 1 << state.number());
    let before = Moment::from(purge.before);
    let except: Vec<_> = purge.except.iter().map(Tenant::as_str).collect();
    let except = serde_json::to_string(&except).map_err(corrupt)?;
    let limit = to_column(limit as u64);
    let values = (states, before.millisecond, before.rest, except, limit);
    match &purge.tenant {
        Some(tenant) => {
            let (states, millisecond, rest, except, limit) = values;
            candidates(connection, OLD_OF_TENANT, (states, millisecond, rest, except, limit, tenant.as_str()))
        }
        None => candidates(connection, OLD, values),
    }
}

/// Tasks to erase, at most `limit`.
pub(in crate::sqlite) fn to_erase(
    connection: &Connection,
    erase: &Erase,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let limit = to_column(limit as u64);
    let caller = |principal: &Principal| columns::caller(principal);
    match erase {
        Erase::Tenant(tenant) => candidates(connection, OF_TENANT, (tenant.as_str(), limit)),
        Erase::Scope(scope) => {
            candidates(connection, OF_SCOPE, (scope.tenant.as_str(), caller(&scope.principal)?, limit))
        }
        Erase::Context(scope, context) => {
            let values = (scope.tenant.as_str(), caller(&scope.principal)?, context.as_str(), limit);
            candidates(connection, OF_CONTEXT, values)
        }
        Erase::Task(scope, id) => {
            candidates(connection, ONE, (id.as_str(), scope.tenant.as_str(), caller(&scope.principal)?))
        }
    }
}

fn candidates(connection: &Connection, sql: &str, values: impl Params) -> Result<Vec<Candidate>, StoreError> {
    let read = || {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, candidate_row)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    read().map_err(store_error)?.into_iter().map(candidate).collect()
}

type CandidateRow = (i64, String, String, String);

fn candidate_row(row: &Row<'_>) -> rusqlite::Result<CandidateRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn candidate((task, id, tenant, caller): CandidateRow) -> Result<Candidate, StoreError> {
    Ok(Candidate { task, scope: columns::scope(tenant, &caller)?, id: id.into() })
}

/// Tasks that were parked before a time, oldest first.
pub(in crate::sqlite) fn resting(
    connection: &Connection,
    states: &[TaskState],
    before: Timestamp,
    limit: usize,
) -> Result<Vec<Orphan>, StoreError> {
    let (before, limit) = (Moment::from(before), to_column(limit as u64));
    let read = || {
        let mut resting = Vec::new();
        for state in states {
            let mut statement = connection.prepare_cached(PARKED)?;
            let rows = statement.query_map((state.number(), before.millisecond, before.rest, limit), |row| {
                let updated = Moment { millisecond: row.get(0)?, rest: row.get(1)? };
                Ok((updated, row.get(2)?, row.get(3)?, row.get(4)?))
            })?;
            resting.extend(rows.collect::<rusqlite::Result<Vec<(Moment, String, String, String)>>>()?);
        }
        Ok(resting)
    };
    let mut resting = read().map_err(store_error)?;
    resting.sort();
    resting.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let orphans = resting.into_iter();
    orphans
        .map(|(_, id, tenant, caller)| Ok(Orphan { scope: columns::scope(tenant, &caller)?, id: id.into() }))
        .collect()
}

/// A page of all tasks whose keys are greater than `after`.
pub(in crate::sqlite) fn scan(connection: &Connection, after: i64, limit: usize) -> Result<ScanPage, StoreError> {
    let found = candidates(connection, ALL, (after, to_column(limit as u64)))?;
    let mut page = ScanPage::default();
    if found.len() == limit {
        page.next = found.last().map(|last| last.task.to_string().into());
    }
    for Candidate { task, scope, id } in found {
        match scanned(connection, task, &scope, &id) {
            Ok(scanned) => page.tasks.push(scanned),
            Err(error @ StoreError::Corrupt(_)) => page.unreadable.push(Unreadable { scope, id, error }),
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

fn scanned(connection: &Connection, task: i64, scope: &Scope, id: &TaskId) -> Result<Scanned, StoreError> {
    let loaded = task::get(connection, task, id, true, usize::MAX)?;
    let stored = loaded.ok_or_else(|| corrupt("a task exceeds the maximum length"))?.stored;
    let configs = pushes::configs(connection, scope, id)?.unwrap_or_default();
    Ok(Scanned { scope: scope.clone(), stored, configs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn housekeeping_reads_ranges_of_indices() {
        let database = schema::in_memory();
        let by_state = "SEARCH tasks USING INDEX tasks_by_state (scope=? AND state=? AND (updated,updated_rest)<(?,?))";
        for (sql, steps) in [
            (OLD, &["SCAN totals", "SEARCH scopes USING INTEGER PRIMARY KEY", by_state][..]),
            (OLD_OF_TENANT, &["(tenant=?)", "SEARCH totals USING PRIMARY KEY (scope=?)", by_state]),
            (OF_TENANT, &["(tenant=?)", "tasks_by_state (scope=?)"]),
            (OF_SCOPE, &["(tenant=? AND caller=?)", "tasks_by_state (scope=?)"]),
            (OF_CONTEXT, &["(tenant=? AND caller=?)", "tasks_by_context (scope=? AND context=?)"]),
            (ONE, &["(id=?)"]),
            (PARKED, &["tasks_parked (state=? AND (updated,updated_rest)<(?,?))"]),
            (ALL, &["SEARCH tasks USING INTEGER PRIMARY KEY (rowid>?)"]),
        ] {
            let plan = schema::plan(&database, sql);
            for step in steps {
                assert!(plan.iter().any(|plan| plan.contains(step)), "{step} is not in {plan:#?}");
            }
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
            let mut scans = plan.iter().filter(|step| {
                step.starts_with("SCAN") && !["SCAN json_each", "SCAN totals"].iter().any(|it| step.starts_with(it))
            });
            assert_eq!(scans.next(), None);
        }
    }
}
