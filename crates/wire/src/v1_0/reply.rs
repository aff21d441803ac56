//! Replies of 1.0 (section 9.4 "Core Methods"). The result of `SendMessage` is wrapped in `task` or `message`. All
//! other results are not wrapped.

use std::sync::Arc;

use nuncio_model::{Error, Method, Reply, StreamResponse, op::SendMessageResponse};

use super::aliases;
use crate::{dialect::wrong_reply, json};

/// Writes the result of a call.
pub(super) fn write(method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
    use Method as M;
    match (method, reply) {
        (M::SendMessage, Reply::Task(task)) => {
            to.extend_from_slice(br#"{"task":"#);
            json::write(&**task, to);
            to.push(b'}');
        }
        (M::SendMessage, Reply::Message(message)) => {
            to.extend_from_slice(br#"{"message":"#);
            json::write(&**message, to);
            to.push(b'}');
        }
        (M::GetTask | M::CancelTask, Reply::Task(task)) => json::write(&**task, to),
        (M::ListTasks, Reply::Tasks(tasks)) => json::write(tasks, to),
        (M::CreateTaskPushNotificationConfig | M::GetTaskPushNotificationConfig, Reply::PushConfig(config)) => {
            json::write(&**config, to);
        }
        (M::ListTaskPushNotificationConfigs, Reply::PushConfigs(configs)) => json::write(configs, to),
        (M::DeleteTaskPushNotificationConfig, Reply::Deleted) => to.extend_from_slice(b"null"),
        (M::GetExtendedAgentCard, Reply::Card(card)) => json::write(&**card, to),
        (method, _) => return Err(wrong_reply(method)),
    }
    Ok(())
}

/// Reads the result of a call.
pub(super) fn read(method: Method, json: &[u8]) -> Result<Reply, Error> {
    Ok(match method {
        Method::SendMessage => match json::answer(json) {
            Ok(SendMessageResponse::Task(task)) => Reply::Task(Arc::new(task)),
            Ok(SendMessageResponse::Message(message)) => Reply::Message(Box::new(message)),
            Err(error) => match aliases::bare_event(json) {
                Some(StreamResponse::Task(task)) => Reply::Task(Arc::new(task)),
                Some(StreamResponse::Message(message)) => Reply::Message(Box::new(message)),
                _ => return Err(error),
            },
        },
        Method::GetTask | Method::CancelTask => Reply::Task(Arc::new(json::answer(json)?)),
        Method::ListTasks => Reply::Tasks(json::answer(json)?),
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Reply::PushConfig(Box::new(json::answer(json)?))
        }
        Method::ListTaskPushNotificationConfigs => Reply::PushConfigs(json::answer(json)?),
        // Peers send `null`, `{}` or nothing (section 3.1.10 leaves the result to the implementation).
        Method::DeleteTaskPushNotificationConfig => Reply::Deleted,
        Method::GetExtendedAgentCard => Reply::Card(Arc::new(json::answer(json)?)),
        Method::SendStreamingMessage | Method::SubscribeToTask => {
            return Err(Error::internal(format!("{} answers with a stream", method.name())));
        }
    })
}
