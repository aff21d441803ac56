//! The facts that the model loses when it passes through 0.1: exactly those in the table of `docs/versions.md`.

use nuncio_model::{
    Artifact, Call, Message, MessageId, Method, Reply, Role, StreamResponse, Struct, TaskState,
    op::{SendMessageRequest, SendStreamingMessageRequest},
};
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, value::RawValue};

use super::{
    harness::{event, v01},
    schema::assert_is,
};
use crate::{
    losses::{About, Ledger, Way, any_event, artifacts, hold, messages},
    proto::{
        oracle,
        round_trip::{Side, any_message},
    },
    spec::json,
};

fn of_event(ledger: &Ledger, response: &mut StreamResponse) {
    let (task_id, context_id) = match response {
        StreamResponse::Task(task) => (Some(task.id.clone()), task.context_id.clone()),
        _ => (None, None),
    };
    for message in messages(response) {
        of_message(ledger, message);
        ledger.lose("Message.taskId", &mut message.task_id, task_id.clone());
        ledger.lose("Message.contextId", &mut message.context_id, context_id.clone());
    }
    artifacts(response).into_iter().enumerate().for_each(|(place, it)| of_artifact(ledger, it, place));
    match response {
        StreamResponse::Task(task) => of_marked(task.state(), task.status.message.as_deref_mut(), &mut task.metadata),
        StreamResponse::StatusUpdate(update) => {
            ledger.lose("TaskStatusUpdateEvent.contextId", &mut update.context_id, "".into());
            of_marked(update.status.state, update.status.message.as_deref_mut(), &mut update.metadata);
        }
        StreamResponse::ArtifactUpdate(update) => {
            ledger.lose("TaskArtifactUpdateEvent.contextId", &mut update.context_id, "".into());
        }
        StreamResponse::Message(_) => {}
    }
}

/// A state that 0.1 does not have is stored in metadata. After reading, metadata that becomes empty is removed.
fn of_marked(state: TaskState, message: Option<&mut Message>, around: &mut Option<Box<Struct>>) {
    let metadata = message.map_or(around, |message| &mut message.metadata);
    if matches!(state, TaskState::Rejected | TaskState::AuthRequired) {
        metadata.take_if(|it| it.is_empty());
    }
}

fn of_message(ledger: &Ledger, message: &mut Message) {
    ledger.lose("Message.messageId", &mut message.message_id, MessageId::default());
    if message.role == Role::Unspecified {
        ledger.lose("Role.ROLE_UNSPECIFIED", &mut message.role, Role::Agent);
    }
    ledger.lose("Message.extensions", &mut message.extensions, Vec::new());
    ledger.lose("Message.referenceTaskIds", &mut message.reference_task_ids, Vec::new());
    message.parts.iter_mut().for_each(|part| ledger.of_part(part));
}

fn of_artifact(ledger: &Ledger, artifact: &mut Artifact, place: usize) {
    let number = artifact.artifact_id.as_str().parse::<u32>().map_or(place, |number| number as usize);
    ledger.lose("Artifact.artifactId", &mut artifact.artifact_id, number.to_string().into());
    ledger.lose("Artifact.extensions", &mut artifact.extensions, Vec::new());
    artifact.parts.for_each_mut(|part| ledger.of_part(part));
}

/// Reading creates a new id for each message.
fn without_message_ids(response: &mut StreamResponse) {
    for message in messages(response) {
        message.message_id = MessageId::default();
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

fn of_call(ledger: &Ledger, call: &mut Call) {
    ledger.of_tenant(call);
    match call {
        Call::SendMessage(send) => of_send(ledger, send),
        Call::SendStreamingMessage(send) => of_send(ledger, &mut send.0),
        Call::GetTask(get) => {
            let length = get.history_length.or(Some(i32::MAX));
            ledger.lose("GetTaskRequest.historyLength", &mut get.history_length, length);
        }
        Call::CreateTaskPushNotificationConfig(config) => {
            ledger.lose("TaskPushNotificationConfig.id", &mut config.id, None);
        }
        Call::GetTaskPushNotificationConfig(get) => {
            ledger.lose("GetTaskPushNotificationConfigRequest.id", &mut get.id, "".into());
        }
        _ => {}
    }
}

fn of_send(ledger: &Ledger, send: &mut SendMessageRequest) {
    of_message(ledger, &mut send.message);
    let configuration = send.configuration.get_or_insert_default();
    let length = configuration.history_length.or(Some(i32::MAX));
    ledger.lose("SendMessageConfiguration.historyLength", &mut configuration.history_length, length);
    ledger.lose("SendMessageConfiguration.acceptedOutputModes", &mut configuration.accepted_output_modes, Vec::new());
    ledger.lose("SendMessageConfiguration.returnImmediately", &mut configuration.return_immediately, false);
    // A webhook without an address counts as absent.
    configuration.task_push_notification_config.take_if(|config| config.url.is_empty());
    if let Some(config) = &mut configuration.task_push_notification_config {
        ledger.lose("*.tenant", &mut config.tenant, None);
        ledger.lose("TaskPushNotificationConfig.id", &mut config.id, None);
        ledger.lose("TaskPushNotificationConfig.taskId", &mut config.task_id, None);
    }
}

/// A message of a 0.1 client names its task.
fn named(call: &mut Call) {
    if let Call::SendMessage(send) | Call::SendStreamingMessage(SendStreamingMessageRequest(send)) = call {
        send.message.task_id.get_or_insert_with(|| "t".into());
    }
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

/// An event without a form in 0.1 is written as a status.
fn is_written_as_a_status(response: &StreamResponse, state: TaskState) -> bool {
    let told = v01().decode_event(event(response).to_string().as_bytes()).unwrap();
    matches!(told, StreamResponse::StatusUpdate(update) if update.status.state == state)
}

#[test]
fn events_lose_exactly_the_documented_fields() {
    hold((Way::Oldest, About::Events), 512, &any_event(), |ledger, mut model| {
        match &model {
            StreamResponse::Message(_) => {
                prop_assert!(is_written_as_a_status(&model, TaskState::Completed));
                ledger.saw("StreamResponse.message");
                return Ok(());
            }
            StreamResponse::Task(task) => {
                prop_assert!(is_written_as_a_status(&model, task.state()));
                ledger.saw("StreamResponse.task");
            }
            _ => {}
        }
        let mut older = through(&model);
        of_event(ledger, &mut model);
        without_message_ids(&mut older);
        prop_assert_eq!(older, model);
        Ok(())
    });
}

#[test]
fn calls_lose_exactly_the_documented_fields() {
    hold((Way::Oldest, About::Calls), 512, &any_call(), |ledger, (method, message)| {
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
        of_call(ledger, &mut call);
        let params = RawValue::from_string(params.get().to_owned()).unwrap();
        let mut read = v01().decode_call(method, Some(&params)).unwrap();
        if let Call::SendMessage(send) | Call::SendStreamingMessage(SendStreamingMessageRequest(send)) = &mut read {
            send.message.message_id = MessageId::default();
        }
        prop_assert_eq!(read, call);
        Ok(())
    });
}
