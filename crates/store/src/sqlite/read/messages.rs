//! Looks up the task that received a message.

use nuncio_engine::StoreError;
use nuncio_model::{MessageId, Scope, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::{columns, error::store_error};

const TASK_OF: &str = "SELECT tasks.id FROM scopes CROSS JOIN messages USING (scope) JOIN tasks USING (task) \
    WHERE tenant = ?1 AND caller = ?2 AND messages.id = ?3 AND at >= ?4";

/// The task that received a message with this id in this scope at or after `since`.
pub(in crate::sqlite) fn task_of(
    connection: &Connection,
    scope: &Scope,
    message: &MessageId,
    since: Timestamp,
) -> Result<Option<TaskId>, StoreError> {
    let caller = columns::caller(&scope.principal)?;
    let mut statement = connection.prepare_cached(TASK_OF).map_err(store_error)?;
    let key = (scope.tenant.as_str(), caller, message.as_str(), since.as_millisecond());
    let found = statement.query_row(key, |row| row.get::<_, String>(0));
    found.optional().map(|found| found.map(TaskId::from)).map_err(store_error)
}

#[cfg(test)]
mod tests {
    use super::TASK_OF;
    use crate::sqlite::schema;

    #[test]
    fn a_message_is_found_by_its_key() {
        let plan = schema::plan(&schema::in_memory(), TASK_OF).join("\n");
        assert!(plan.contains("messages USING PRIMARY KEY (scope=? AND id=?)"), "{plan}");
    }

    #[test]
    fn deleting_a_task_deletes_its_message_ids() {
        let connection = schema::in_memory();
        connection
            .execute_batch(
                "INSERT INTO tasks VALUES (1, 't', 1, 'c', 1, 0, 0, 1, 1, 0, 0, NULL, 1, '{}', NULL), \
                 (2, 'u', 1, 'c', 1, 0, 0, 1, 1, 0, 0, NULL, 1, '{}', NULL); \
                 INSERT INTO messages VALUES (1, 'm', 1, 0), (1, 'n', 2, 0); \
                 DELETE FROM tasks WHERE task = 1;",
            )
            .unwrap();
        let left = connection.query_row("SELECT group_concat(id) FROM messages", [], |row| row.get::<_, String>(0));
        assert_eq!(left.unwrap(), "n");
    }
}
