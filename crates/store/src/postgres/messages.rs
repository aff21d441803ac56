//! Looks up the tasks of received messages, to recognize duplicates.

use nuncio_engine::{StoreError, store::Remember};
use nuncio_model::{MessageId, Scope, TaskId, Timestamp};

use super::{
    error::unavailable,
    links::Links,
    read::value,
    statements::Sql,
    text::{ScopeColumns, from_column, to_column},
};

/// The task that received a message with this id in this scope at or after `since`.
pub(super) async fn task_of(
    links: &Links,
    scope: &Scope,
    message: &MessageId,
    since: Timestamp,
) -> Result<Option<TaskId>, StoreError> {
    let (scope, message) = (ScopeColumns::of(scope)?, to_column(message.as_str()));
    let since = since.as_millisecond();
    let rows = links.query(Sql::TaskOfMessage, &[&scope.tenant, &scope.caller, &&*message, &since]).await?;
    rows.first().map(|row| Ok(from_column(value(row, 0)?).as_ref().into())).transpose()
}

/// The error for a commit that was refused because one of its messages is a duplicate.
pub(super) async fn duplicate(links: &Links, scope: &Scope, remember: &Remember) -> Result<StoreError, StoreError> {
    for message in &remember.messages {
        if let Some(task) = task_of(links, scope, message, remember.since).await? {
            return Ok(StoreError::Duplicate(task));
        }
    }
    Ok(unavailable("the task that received the message was deleted at the same time; try again"))
}
