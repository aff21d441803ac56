//! `ListTasks` (section 3.1.4).

use std::sync::Arc;

use nuncio_model::{
    Error, Reply, Scope, Task, TaskState,
    op::{ListTasksRequest, ListTasksResponse},
};

use crate::{shared::Shared, store::ListQuery};

pub(super) async fn call(shared: &Arc<Shared>, scope: Scope, call: ListTasksRequest) -> Result<Reply, Error> {
    let page_size = call.page_size.unwrap_or(ListTasksRequest::DEFAULT_PAGE_SIZE);
    let artifacts = call.include_artifacts == Some(true);
    let (total, page_token) = with_total(call.page_token);
    let query = ListQuery {
        context: call.context_id,
        state: Some(call.status).filter(|state| *state != TaskState::Unspecified),
        updated_since: call.status_timestamp_after,
        page_size: usize::try_from(page_size).unwrap_or_default(),
        page_token,
        artifacts,
        page_bytes: Some(shared.limits.page_bytes),
        total,
    };
    let page = shared.store.list(&scope, &query).await?;
    let history = call.history_length.and_then(|length| usize::try_from(length).ok());
    Ok(Reply::Tasks(ListTasksResponse {
        tasks: page.tasks.into_iter().map(|task| listed(task, history, artifacts)).collect(),
        next_page_token: page.next.map_or_else(Box::default, |next| format!("{}.{next}", page.total).into()),
        page_size,
        total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
    }))
}

/// Splits the token of a page into the total, which the first page counted, and the token of the store. Tokens of earlier
/// releases have no total.
fn with_total(token: Option<Box<str>>) -> (Option<usize>, Option<Box<str>>) {
    match token.as_deref().and_then(|token| token.split_once('.')) {
        Some((total, token)) if total.parse::<u32>().is_ok() => (total.parse().ok(), Some(token.into())),
        _ => (None, token),
    }
}

/// A task in a list: artifacts only on request, and at most the requested history (section 3.1.4 "List Tasks").
fn listed(task: Arc<Task>, history: Option<usize>, artifacts: bool) -> Task {
    match Arc::try_unwrap(task) {
        // This list has the only reference to the task.
        Ok(mut task) => {
            if !artifacts {
                task.artifacts = Vec::new();
            }
            task.history.drain(..task.history.len() - kept(&task, history));
            task
        }
        Err(task) => Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: if artifacts { task.artifacts.clone() } else { Vec::new() },
            history: task.history[task.history.len() - kept(&task, history)..].to_vec(),
            metadata: task.metadata.clone(),
        },
    }
}

/// The number of messages of the history to return.
fn kept(task: &Task, history: Option<usize>) -> usize {
    history.map_or(task.history.len(), |limit| limit.min(task.history.len()))
}

#[cfg(test)]
mod tests {
    use super::with_total;

    #[test]
    fn a_token_carries_the_total_of_the_first_page() {
        for (token, total, of_store) in [
            (None, None, None),
            (Some("7.abc"), Some(7), Some("abc")),
            (Some("abc"), None, Some("abc")),
            (Some("x.abc"), None, Some("x.abc")),
            (Some("-1.abc"), None, Some("-1.abc")),
        ] {
            let of_store: Option<Box<str>> = of_store.map(Box::from);
            assert_eq!(with_total(token.map(Box::from)), (total, of_store), "{token:?}");
        }
    }
}
