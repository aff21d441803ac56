//! `ListTaskPushNotificationConfigs` (section 3.1.9).

use std::sync::Arc;

use nuncio_model::{
    Error, Reply, Scope, TaskId,
    op::{ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse},
};

use super::without_secrets;
use crate::{
    push,
    shared::Shared,
    store::{StoreError, seal, unseal},
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    call: ListTaskPushNotificationConfigsRequest,
) -> Result<Reply, Error> {
    let configs = push::known(shared, &scope, &call.task_id).await?;
    let of_task = list_of(&call.task_id);
    let mut rest = configs.into_iter().map(|known| without_secrets(known.config)).peekable();
    if let Some(token) = &call.page_token {
        let last = unseal(&of_task, token).ok_or(StoreError::BadPageToken)?;
        while rest.next_if(|config| config.id.as_ref().is_some_and(|id| id.as_str().as_bytes() <= &*last)).is_some() {}
    }
    let size = usize::try_from(call.page_size).ok().filter(|size| *size > 0);
    let size = size.map_or(usize::MAX, |size| size.min(shared.limits.push_configs.max(1)));
    let configs: Vec<_> = rest.by_ref().take(size).collect();
    let last = configs.last().and_then(|config| config.id.as_ref());
    let next_page_token = match (rest.peek(), last) {
        (Some(_), Some(last)) => seal(&of_task, last.as_str().as_bytes()),
        _ => Box::default(),
    };
    Ok(Reply::PushConfigs(ListTaskPushNotificationConfigsResponse { configs, next_page_token }))
}

/// The filter of a page token. The position is the id of the last configuration of the previous page.
fn list_of(task: &TaskId) -> Vec<u8> {
    // The last byte occurs in no text, so it separates the id from the next field.
    [&b"webhooks"[..], task.as_str().as_bytes(), &[0xff]].concat()
}
