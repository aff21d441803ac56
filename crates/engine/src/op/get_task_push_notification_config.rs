//! `GetTaskPushNotificationConfig` (section 3.1.8).

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope, op::GetTaskPushNotificationConfigRequest};

use super::without_secrets;
use crate::{push, shared::Shared};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    call: GetTaskPushNotificationConfigRequest,
) -> Result<Reply, Error> {
    let configs = push::known(shared, &scope, &call.task_id).await?;
    let found = configs.into_iter().find(|known| known.config.id.as_ref() == Some(&call.id));
    let known = found.ok_or_else(|| {
        // Sections 3.1.7 to 3.1.10 use this error for an unknown configuration, too.
        Error::new(ErrorKind::TaskNotFound, format!("task {} has no push configuration {}", call.task_id, call.id))
            .with_metadata("taskId", call.task_id.as_str())
    })?;
    Ok(Reply::PushConfig(Box::new(without_secrets(known.config))))
}
