//! Short ids of tasks, as `task list` shows them: the task is found by listing.

use nuncio_client::Client;
use nuncio_model::{
    ErrorKind, TaskId,
    op::{GetTaskRequest, ListTasksRequest},
};

use crate::{connect::Connection, error::CliError};

/// The possible lengths of a short id.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=31;
/// How many pages of a hundred tasks are searched.
const MOST_PAGES: usize = 10;

/// The id of a task: the text itself, or the only id that begins or ends with the text.
///
/// The agent is asked only if the text can be a part of an id of this engine: hexadecimal digits and hyphens.
pub(crate) async fn resolve(connection: &Connection, text: &str) -> Result<TaskId, CliError> {
    let is_part = LENGTHS.contains(&text.len()) && text.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-');
    if !is_part || exists(&connection.client, text).await {
        return Ok(text.into());
    }
    // If the agent cannot list tasks, its answer to the command reports the missing task.
    let found = search(&connection.client, text).await;
    match &found[..] {
        [] => Ok(text.into()),
        [id] => Ok(id.clone()),
        ids => {
            let ids: Vec<_> = ids.iter().map(TaskId::as_str).collect();
            Err(CliError::usage(format!("`{text}` can be {} tasks: {}", ids.len(), ids.join(", ")))
                .with_hint("give more of the id"))
        }
    }
}

async fn exists(client: &Client, text: &str) -> bool {
    let mut request = GetTaskRequest::new(text);
    request.history_length = Some(0);
    match client.call(request).await {
        Ok(_) => true,
        // Any other failure is told by the command itself.
        Err(error) => error.as_agent_error().is_none_or(|error| error.kind() != ErrorKind::TaskNotFound),
    }
}

async fn search(client: &Client, text: &str) -> Vec<TaskId> {
    let mut request = ListTasksRequest { page_size: Some(100), history_length: Some(0), ..ListTasksRequest::default() };
    let mut found = Vec::new();
    for _ in 0..MOST_PAGES {
        let Ok(page) = client.tasks(request.clone()).await else { break };
        let ids = page.tasks.into_iter().map(|task| task.id);
        found.extend(ids.filter(|id| id.as_str().starts_with(text) || id.as_str().ends_with(text)));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = Some(page.next_page_token);
    }
    found
}
