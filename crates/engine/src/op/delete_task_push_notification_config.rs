//! `DeleteTaskPushNotificationConfig` (section 3.1.10).

use std::sync::Arc;

use nuncio_model::{Error, Reply, Scope, op::DeleteTaskPushNotificationConfigRequest};

use crate::shared::Shared;

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    call: DeleteTaskPushNotificationConfigRequest,
) -> Result<Reply, Error> {
    if shared.store.delete_push_config(&scope, &call.task_id, &call.id).await? {
        Ok(Reply::Deleted)
    } else {
        Err(Error::task_not_found(call.task_id.as_str()))
    }
}
