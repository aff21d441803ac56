//! What a model loses on its way through 0.1, and that it loses nothing more.

use nuncio_model::{
    Artifact, Call, Message, MessageId, Method, Part, PartContent, Reply, Role, StreamResponse, Struct,
    TaskPushNotificationConfig, TaskState, op::SendMessageRequest,
};
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, value::RawValue};

use super::{
    harness::{event, v01},
    schema::assert_is,
};
use crate::{
    proto::{
        oracle,
        round_trip::{Side, any_message},
    },
    spec::json,
};

/// The list of losses of events and results.
fn what_is_lost(response: &mut StreamResponse) {
    match response {
        StreamResponse::Task(task) => {
            let (id, context) = (Some(task.id.clone()), task.context_id.clone());
            for message in task.status.message.iter_mut().chain(&mut task.history) {
                of_message(message);
                message.task_id.clone_from(&id);
                message.context_id.clone_from(&context);
            }
            task.artifacts.iter_mut().enumerate().for_each(|(place, it)| of_artifact(it, place));
            of_marked(task.state(), task.status.message.as_mut(), &mut task.metadata);
        }
        StreamResponse::StatusUpdate(update) => {
            update.context_id = "".into();
            update.status.message.iter_mut().for_each(of_message);
            of_marked(update.status.state, update.status.message.as_mut(), &mut update.metadata);
        }
        StreamResponse::ArtifactUpdate(update) => {
            update.context_id = "".into();
            of_artifact(&mut update.artifact, 0);
        }
        StreamResponse::Message(_) => {}
    }
}

/// A state that 0.1 lacks is told in metadata, which it leaves empty.
fn of_marked(state: TaskState, message: Option<&mut Message>, around: &mut Option<Box<Struct>>) {
    let metadata = message.map_or(around, |message| &mut message.metadata);
    if matches!(state, TaskState::Rejected | TaskState::AuthRequired) {
        metadata.take_if(|it| it.is_empty());
    }
}

fn of_message(message: &mut Message) {
    *message = Message {
        message_id: MessageId::default(),
        role: if message.role == Role::User { Role::User } else { Role::Agent },
        parts: std::mem::take(&mut message.parts),
        metadata: message.metadata.take(),
        ..Message::default()
    };
    message.parts.iter_mut().for_each(of_part);
}

fn of_artifact(artifact: &mut Artifact, place: usize) {
    let number = artifact.artifact_id.as_str().parse::<u32>().map_or(place, |number| number as usize);
    artifact.artifact_id = number.to_string().into();
    artifact.extensions.clear();
    artifact.parts.iter_mut().for_each(of_part);
}

fn of_part(part: &mut Part) {
    let (content, metadata, filename, media_type) = std::mem::take(part).into_pieces();
    let mut kept = Part::new(content);
    if let PartContent::Raw(_) | PartContent::Url(_) = kept.content {
        kept = filename.into_iter().fold(kept, Part::with_filename);
        kept = media_type.into_iter().fold(kept, Part::with_media_type);
    }
    // Empty metadata of data that is no object goes with the flag that is taken out of it.
    let wrapped = matches!(&kept.content, PartContent::Data(data) if !data.is_object());
    *part = metadata.filter(|it| !(wrapped && it.is_empty())).into_iter().fold(kept, Part::with_metadata);
}

/// Ids of messages are made anew each time.
fn without_message_ids(response: &mut StreamResponse) {
    let forget = |message: &mut Message| message.message_id = MessageId::default();
    match response {
        StreamResponse::Task(task) => task.status.message.iter_mut().chain(&mut task.history).for_each(forget),
        StreamResponse::StatusUpdate(update) => update.status.message.iter_mut().for_each(forget),
        StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => {}
    }
}

fn through(response: &StreamResponse) -> StreamResponse {
    match response {
        StreamResponse::Task(task) => {
            let mut to = Vec::new();
            v01().encode_reply(Method::GetTask, &Reply::Task(task.clone().into()), &mut to).unwrap();
            assert_is(&json(&to), "Task");
            match v01().decode_reply(Method::GetTask, &to).unwrap() {
                Reply::Task(task) => StreamResponse::Task((*task).clone()),
                other => panic!("{other:?}"),
            }
        }
        other => v01().decode_event(event(other).to_string().as_bytes()).unwrap(),
    }
}

/// The list of losses of calls.
fn what_a_call_loses(call: &mut Call) {
    call.set_tenant(None);
    match call {
        Call::SendMessage(send) => of_send(send),
        Call::SendStreamingMessage(send) => of_send(&mut send.0),
        Call::GetTask(get) => get.history_length = get.history_length.or(Some(i32::MAX)),
        Call::CreateTaskPushNotificationConfig(config) => config.id = None,
        Call::GetTaskPushNotificationConfig(get) => get.id = "".into(),
        _ => {}
    }
}

fn of_send(send: &mut SendMessageRequest) {
    let (task_id, context_id) = (send.message.task_id.take(), send.message.context_id.take());
    of_message(&mut send.message);
    send.message.task_id = task_id;
    send.message.context_id = context_id;
    let configuration = send.configuration.take().unwrap_or_default();
    let hook = configuration.task_push_notification_config.filter(|config| !config.url.is_empty());
    let hook = hook.map(|it| TaskPushNotificationConfig { tenant: None, id: None, task_id: None, ..it });
    **send.configuration.get_or_insert_default() = nuncio_model::op::SendMessageConfiguration {
        history_length: configuration.history_length.or(Some(i32::MAX)),
        task_push_notification_config: hook,
        ..Default::default()
    };
}

/// A message of a client of 0.1 names its task.
fn named(call: &mut Call) {
    if let Call::SendMessage(send) | Call::SendStreamingMessage(nuncio_model::op::SendStreamingMessageRequest(send)) =
        call
    {
        send.message.task_id.get_or_insert_with(|| "t".into());
    }
}

fn any_event() -> BoxedStrategy<Value> {
    any_message(&oracle::message("StreamResponse"), Side::Reply).prop_map(|message| oracle::to_json(&message)).boxed()
}

fn any_call() -> BoxedStrategy<(Method, Value)> {
    let service = oracle::POOL.get_service_by_name(nuncio_wire::proto::SERVICE).unwrap();
    let calls = service.methods().filter_map(|call| {
        let method = Method::from_name(call.name()).unwrap();
        v01().method_name(method)?;
        Some(any_message(&call.input(), Side::Request).prop_map(move |it| (method, oracle::to_json(&it))).boxed())
    });
    Union::new(calls).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn events_lose_only_what_the_list_says(message in any_event()) {
        let mut model: StreamResponse = serde_json::from_value(message).unwrap();
        // A direct answer has no form of its own.
        prop_assume!(!matches!(model, StreamResponse::Message(_)));
        let mut older = through(&model);
        what_is_lost(&mut model);
        without_message_ids(&mut older);
        prop_assert_eq!(older, model);
    }

    #[test]
    fn calls_lose_only_what_the_list_says((method, message) in any_call()) {
        let newest = nuncio_wire::dialect(nuncio_wire::Version::V1_0).jsonrpc();
        let params = RawValue::from_string(message.to_string()).unwrap();
        let mut call = newest.decode_call(method, Some(&params)).unwrap();
        named(&mut call);
        let params = v01().encode_call(&call).unwrap();
        let kind = match method {
            Method::SendMessage | Method::SendStreamingMessage => "TaskSendParams",
            Method::GetTask => "TaskQueryParams",
            Method::CreateTaskPushNotificationConfig => "TaskPushNotificationConfig",
            _ => "TaskIdParams",
        };
        assert_is(&json(params.get().as_bytes()), kind);
        what_a_call_loses(&mut call);
        let params = RawValue::from_string(params.get().to_owned()).unwrap();
        let mut read = v01().decode_call(method, Some(&params)).unwrap();
        if let Call::SendMessage(send) | Call::SendStreamingMessage(nuncio_model::op::SendStreamingMessageRequest(send)) = &mut read {
            send.message.message_id = MessageId::default();
        }
        prop_assert_eq!(read, call);
    }
}
