//! The response messages of the methods, and the events of streams.

use std::sync::Arc;

use nuncio_model::{
    AgentCard, Error, Method, Reply, StreamResponse, Task, TaskPushNotificationConfig,
    op::{ListTaskPushNotificationConfigsResponse, ListTasksResponse},
};

use super::{
    fault::Fault,
    field::always,
    message::{Message, decode, message},
    reader::{Reader, Side},
};

message! {
    ListTasksResponse {
        1 tasks: repeated,
        2 next_page_token: implicit,
        3 page_size: implicit,
        4 total_size: implicit,
    }

    ListTaskPushNotificationConfigsResponse {
        1 configs: repeated,
        2 next_page_token: implicit,
    }
}

/// The field numbers of `StreamResponse`. `SendMessageResponse` has the first two with the same numbers.
mod member {
    pub(super) const TASK: u32 = 1;
    pub(super) const MESSAGE: u32 = 2;
    pub(super) const STATUS_UPDATE: u32 = 3;
    pub(super) const ARTIFACT_UPDATE: u32 = 4;
}

/// Appends the response message of a method.
///
/// # Errors
///
/// `Internal` if the method does not return this kind of reply. A stream has no response message: see [`encode_event`].
pub fn encode_reply(method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
    match (method, reply) {
        (Method::SendMessage, Reply::Task(task)) => always::write(&**task, member::TASK, to),
        (Method::SendMessage, Reply::Message(message)) => always::write(&**message, member::MESSAGE, to),
        (Method::GetTask | Method::CancelTask, Reply::Task(task)) => task.write_fields(to),
        (Method::ListTasks, Reply::Tasks(tasks)) => tasks.write_fields(to),
        (
            Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig,
            Reply::PushConfig(config),
        ) => config.write_fields(to),
        (Method::ListTaskPushNotificationConfigs, Reply::PushConfigs(configs)) => configs.write_fields(to),
        (Method::DeleteTaskPushNotificationConfig, Reply::Deleted) => {}
        (Method::GetExtendedAgentCard, Reply::Card(card)) => card.write_fields(to),
        _ => return Err(Error::internal(format!("{} cannot answer with {reply:?}", method.name()))),
    }
    Ok(())
}

/// Reads the response message of a method that does not stream.
///
/// # Errors
///
/// `InvalidAgentResponse` if the bytes are not the message.
pub fn decode_reply(method: Method, bytes: &[u8]) -> Result<Reply, Error> {
    read_reply(method, bytes).map_err(Fault::into_reply_error)
}

fn read_reply(method: Method, bytes: &[u8]) -> Result<Reply, Fault> {
    Ok(match method {
        Method::SendMessage => match read_response(bytes)? {
            StreamResponse::Task(task) => Reply::Task(Arc::new(task)),
            StreamResponse::Message(message) => Reply::Message(Box::new(message)),
            _ => return Err(Fault::invalid("needs one of task and message")),
        },
        Method::GetTask | Method::CancelTask => Reply::Task(Arc::new(decode::<Task>(bytes, Side::Reply)?)),
        Method::ListTasks => Reply::Tasks(decode(bytes, Side::Reply)?),
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Reply::PushConfig(Box::new(decode::<TaskPushNotificationConfig>(bytes, Side::Reply)?))
        }
        Method::ListTaskPushNotificationConfigs => Reply::PushConfigs(decode(bytes, Side::Reply)?),
        Method::DeleteTaskPushNotificationConfig => Reply::Deleted,
        Method::GetExtendedAgentCard => Reply::Card(Arc::new(decode::<AgentCard>(bytes, Side::Reply)?)),
        Method::SendStreamingMessage | Method::SubscribeToTask => {
            return Err(Fault::invalid(format!("{} answers with a stream", method.name())));
        }
    })
}

/// Appends one event of a stream.
pub fn encode_event(event: &StreamResponse, to: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => always::write(task, member::TASK, to),
        StreamResponse::Message(message) => always::write(message, member::MESSAGE, to),
        StreamResponse::StatusUpdate(update) => always::write(update, member::STATUS_UPDATE, to),
        StreamResponse::ArtifactUpdate(update) => always::write(update, member::ARTIFACT_UPDATE, to),
    }
}

/// Reads one event of a stream.
///
/// # Errors
///
/// `InvalidAgentResponse` if the bytes are not an event.
pub fn decode_event(bytes: &[u8]) -> Result<StreamResponse, Error> {
    read_response(bytes).map_err(Fault::into_reply_error)
}

fn read_response(bytes: &[u8]) -> Result<StreamResponse, Fault> {
    let mut from = Reader::new(bytes, Side::Reply);
    let mut response = None;
    while let Some(tag) = from.tag()? {
        let from = &mut from;
        response = Some(match tag.number {
            member::TASK => StreamResponse::Task(always::take("task", tag, from)?),
            member::MESSAGE => StreamResponse::Message(always::take("message", tag, from)?),
            member::STATUS_UPDATE => StreamResponse::StatusUpdate(always::take("status_update", tag, from)?),
            member::ARTIFACT_UPDATE => StreamResponse::ArtifactUpdate(always::take("artifact_update", tag, from)?),
            _ => {
                from.skip(tag)?;
                continue;
            }
        });
    }
    response.ok_or_else(|| Fault::invalid("needs one of task, message, statusUpdate and artifactUpdate"))
}
