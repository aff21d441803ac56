//! Replies: the messages of the proto as JSON, and other forms that servers send.

use std::sync::Arc;

use nuncio_model::{
    Error, Method, Reply, StreamResponse, Task, TaskPushNotificationConfig, op::ListTaskPushNotificationConfigsResponse,
};
use serde::Deserialize;

use super::event;
use crate::{
    card,
    dialect::wrong_reply,
    json,
    proto::fault::Fault,
    v0_3::{
        Family,
        proto::{
            card::AgentCard,
            push::{self, AnyConfig},
            reply, task,
        },
    },
};

/// Writes the body of an answer.
pub(super) fn write(of: &Family, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
    use Method as M;
    match (method, reply) {
        (M::SendMessage, Reply::Task(task)) => json::write(&reply::StreamResponse::from(&**task), to),
        (M::SendMessage, Reply::Message(message)) => json::write(&reply::StreamResponse::from(&**message), to),
        (M::GetTask | M::CancelTask, Reply::Task(task)) => json::write(&task::Task::from(&**task), to),
        (M::CreateTaskPushNotificationConfig | M::GetTaskPushNotificationConfig, Reply::PushConfig(config)) => {
            json::write(&push::TaskPushNotificationConfig::from(&**config), to);
        }
        (M::ListTaskPushNotificationConfigs, Reply::PushConfigs(page)) => {
            json::write(&reply::ListTaskPushNotificationConfigResponse::from(page), to);
        }
        (M::DeleteTaskPushNotificationConfig, Reply::Deleted) => to.extend_from_slice(b"{}"),
        // If the version reads the extended card from a path outside of this binding, the card has the form of the
        // public card.
        (M::GetExtendedAgentCard, Reply::Card(card)) if of.habits.extended_card.is_some() => {
            to.extend_from_slice(&card::encode_for(card, of.version));
        }
        // The proto has its own form of security schemes, but SDKs read the form of the public card. Therefore the card
        // has both forms.
        (M::GetExtendedAgentCard, Reply::Card(card)) => {
            let message = AgentCard::new(card, of.version)?;
            to.extend_from_slice(&card::encode_beside(card, of.version, &message.security_schemes));
        }
        (method, _) => return Err(wrong_reply(method)),
    }
    Ok(())
}

/// Reads the body of an answer.
pub(super) fn read(method: Method, body: &[u8]) -> Result<Reply, Error> {
    Ok(match method {
        Method::SendMessage => match event::read(body)? {
            StreamResponse::Task(task) => Reply::Task(Arc::new(task)),
            StreamResponse::Message(message) => Reply::Message(Box::new(message)),
            _ => return Err(Fault::invalid("needs one of task and message").into_reply_error()),
        },
        Method::GetTask | Method::CancelTask => Reply::Task(Arc::new(Task::from(json::answer::<task::Task>(body)?))),
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Reply::PushConfig(Box::new(TaskPushNotificationConfig::from(json::answer::<AnyConfig>(body)?)))
        }
        Method::ListTaskPushNotificationConfigs => Reply::PushConfigs(read_configs(body)?),
        // The body can be empty or anything else. The body is ignored.
        Method::DeleteTaskPushNotificationConfig => Reply::Deleted,
        Method::GetExtendedAgentCard => Reply::Card(Arc::new(card::decode(body)?)),
        Method::SendStreamingMessage | Method::SubscribeToTask | Method::ListTasks => {
            return Err(Error::internal(format!("{} has no reply in versions 0.2 and 0.3", method.name())));
        }
    })
}

/// A page of webhooks, or a list of webhooks as in JSON-RPC.
fn read_configs(body: &[u8]) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Page {
        configs: Option<Vec<AnyConfig>>,
        #[serde(rename = "nextPageToken", alias = "next_page_token")]
        next_page_token: Option<Box<str>>,
    }
    let page = if body.trim_ascii_start().starts_with(b"[") {
        Page { configs: Some(json::answer(body)?), next_page_token: None }
    } else {
        json::answer(body)?
    };
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: page.configs.unwrap_or_default().into_iter().map(Into::into).collect(),
        next_page_token: page.next_page_token.unwrap_or_default(),
    })
}
