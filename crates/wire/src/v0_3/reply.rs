//! Replies in JSON-RPC of 0.2 and 0.3. Results are not wrapped.

use std::sync::Arc;

use nuncio_model::{Error, Method, Reply, TaskPushNotificationConfig, op::ListTaskPushNotificationConfigsResponse};

use super::{
    kind::{self, Outcome},
    params::TaskConfig,
};
use crate::{
    card,
    dialect::{Version, wrong_reply},
};

/// Writes the result of a call.
pub(super) fn write(version: Version, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
    use Method as M;
    match (method, reply) {
        (M::SendMessage | M::GetTask | M::CancelTask, Reply::Task(task)) => kind::write(&**task, to),
        (M::SendMessage, Reply::Message(message)) => kind::write(&**message, to),
        (M::CreateTaskPushNotificationConfig | M::GetTaskPushNotificationConfig, Reply::PushConfig(config)) => {
            kind::write(&TaskConfig::from(&**config), to);
        }
        (M::ListTaskPushNotificationConfigs, Reply::PushConfigs(list)) => {
            let configs: Vec<TaskConfig> = list.configs.iter().map(TaskConfig::from).collect();
            kind::write(&configs, to);
        }
        (M::DeleteTaskPushNotificationConfig, Reply::Deleted) => to.extend_from_slice(b"null"),
        (M::GetExtendedAgentCard, Reply::Card(card)) => to.extend_from_slice(&card::encode_for(card, version)),
        (method, _) => return Err(wrong_reply(method)),
    }
    Ok(())
}

/// Reads the result of a call.
pub(super) fn read(method: Method, json: &[u8]) -> Result<Reply, Error> {
    Ok(match method {
        Method::SendMessage => match kind::read_outcome(json)? {
            Outcome::Task(task) => Reply::Task(Arc::new(task)),
            Outcome::Message(message) => Reply::Message(Box::new(message)),
        },
        Method::GetTask | Method::CancelTask => Reply::Task(Arc::new(kind::read(json)?)),
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Reply::PushConfig(Box::new(kind::read::<TaskConfig>(json)?.into()))
        }
        Method::ListTaskPushNotificationConfigs => {
            let configs: Vec<TaskConfig> = kind::read(json)?;
            let configs = configs.into_iter().map(TaskPushNotificationConfig::from).collect();
            Reply::PushConfigs(ListTaskPushNotificationConfigsResponse { configs, ..Default::default() })
        }
        // Peers send `null` or other values. The value is ignored.
        Method::DeleteTaskPushNotificationConfig => Reply::Deleted,
        Method::GetExtendedAgentCard => Reply::Card(Arc::new(card::decode(json)?)),
        Method::SendStreamingMessage | Method::SubscribeToTask | Method::ListTasks => {
            return Err(Error::internal(format!("{} has no result in versions 0.2 and 0.3", method.name())));
        }
    })
}
