//! Reads the tasks that run in this process, and the tasks that should run but have no process.

use nuncio_engine::{
    StoreError,
    store::{AtWork, AtWorkPage, Orphan},
};
use rusqlite::Connection;

use crate::sqlite::{
    columns::{self, from_column, to_column},
    error::store_error,
};

/// Running tasks of an earlier opening, and tasks that do not run although their state is submitted (1) or working (2).
const ORPHANS: &str = "SELECT tenant, caller, id, task FROM ( \
        SELECT * FROM (SELECT task, scope, id FROM tasks INDEXED BY tasks_running \
            WHERE running AND epoch < ?1 ORDER BY epoch, task LIMIT ?2) \
        UNION ALL \
        SELECT * FROM (SELECT task, scope, id FROM tasks INDEXED BY tasks_parked \
            WHERE NOT running AND state <> 3 AND state <> 4 AND state <> 5 AND state <> 7 AND state IN (1, 2) \
            LIMIT ?2) \
    ) CROSS JOIN scopes USING (scope) ORDER BY task LIMIT ?2";

const AT_WORK: &str = "SELECT tenant, caller, id, sequence, task \
    FROM tasks INDEXED BY tasks_running CROSS JOIN scopes USING (scope) \
    WHERE running AND epoch = ?1 AND task > ?2 ORDER BY task LIMIT ?3";

/// Tasks that should run but have no process, oldest first.
pub(in crate::sqlite) fn orphans(connection: &Connection, epoch: u64, limit: usize) -> Result<Vec<Orphan>, StoreError> {
    let read = || {
        let mut statement = connection.prepare_cached(ORPHANS)?;
        let rows = statement.query_map((to_column(epoch), to_column(limit as u64)), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<(String, String, String)>>>()
    };
    let rows = read().map_err(store_error)?.into_iter();
    let orphans =
        rows.map(|(tenant, caller, id)| Ok(Orphan { scope: columns::scope(tenant, &caller)?, id: id.into() }));
    orphans.collect()
}

/// A page of the tasks that run in this opening, with keys greater than `after`.
pub(in crate::sqlite) fn at_work(
    connection: &Connection,
    epoch: u64,
    after: i64,
    limit: usize,
) -> Result<AtWorkPage, StoreError> {
    let read = || {
        let mut statement = connection.prepare_cached(AT_WORK)?;
        let rows = statement.query_map((to_column(epoch), after, to_column(limit as u64)), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<(String, String, String, i64, i64)>>>()
    };
    let rows = read().map_err(store_error)?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|(.., task)| task.to_string().into());
    let tasks = rows.into_iter().map(|(tenant, caller, id, sequence, _)| {
        let scope = columns::scope(tenant, &caller)?;
        Ok(AtWork { scope, id: id.into(), epoch, sequence: from_column(sequence) })
    });
    Ok(AtWorkPage { tasks: tasks.collect::<Result<_, StoreError>>()?, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn running_tasks_and_orphans_are_read_from_an_index() {
        let database = schema::in_memory();
        for (sql, indices) in [
            (ORPHANS, &["USING INDEX tasks_running (epoch<?)", "USING INDEX tasks_parked (state=?)"][..]),
            (AT_WORK, &["USING INDEX tasks_running (epoch=? AND task>?)"]),
        ] {
            let plan = schema::plan(&database, sql);
            for index in indices {
                assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
            }
            assert!(!plan.iter().any(|step| step.contains("SCAN tasks") || step.contains("SCAN scopes")), "{plan:?}");
        }
        assert!(!schema::plan(&database, AT_WORK).iter().any(|step| step.contains("TEMP B-TREE")));
    }
}
