//! `ListTaskPushNotificationConfigs` (section 3.1.9).

use std::sync::Arc;

use nuncio_model::{
    Error, Reply, Scope,
    op::{ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse},
};

use super::without_secrets;
use crate::{push, shared::Shared};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    call: ListTaskPushNotificationConfigsRequest,
) -> Result<Reply, Error> {
    let configs = push::known(shared, &scope, &call.task_id).await?;
    let mut rest = configs.into_iter().map(|known| without_secrets(known.config)).peekable();
    if let Some(token) = &call.page_token {
        // The token is the id of the last configuration of the page before.
        while rest.next_if(|config| config.id.as_ref().is_some_and(|id| id.as_str() <= &**token)).is_some() {}
    }
    let size = usize::try_from(call.page_size).ok().filter(|size| *size > 0).unwrap_or(usize::MAX);
    let configs: Vec<_> = rest.by_ref().take(size).collect();
    let last = configs.last().and_then(|config| config.id.as_ref());
    let next_page_token = match (rest.peek(), last) {
        (Some(_), Some(last)) => last.as_str().into(),
        _ => Box::default(),
    };
    Ok(Reply::PushConfigs(ListTaskPushNotificationConfigsResponse { configs, next_page_token }))
}
