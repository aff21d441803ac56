//! What a model loses on its way through 0.3, and that it loses nothing more.

use nuncio_model::{
    Artifact, Call, Message, Method, Part, PartContent, Role, StreamResponse, TaskPushNotificationConfig,
};
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, value::RawValue};

use super::{event, schema, v03, v10, written};
use crate::{
    proto::{
        oracle,
        round_trip::{Side, any_message},
    },
    spec::json,
};

/// The list of losses of events and results: what 0.3 has no place for.
fn what_is_lost(event: &mut StreamResponse) {
    match event {
        StreamResponse::Task(task) => {
            task.status.message.iter_mut().chain(&mut task.history).for_each(of_message);
            task.artifacts.iter_mut().for_each(of_artifact);
        }
        StreamResponse::Message(message) => of_message(message),
        StreamResponse::StatusUpdate(update) => update.status.message.iter_mut().for_each(of_message),
        StreamResponse::ArtifactUpdate(update) => of_artifact(&mut update.artifact),
    }
}

fn of_message(message: &mut Message) {
    // A role must be one of two.
    if message.role == Role::Unspecified {
        message.role = Role::Agent;
    }
    message.parts.iter_mut().for_each(of_part);
}

fn of_artifact(artifact: &mut Artifact) {
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

/// The list of losses of calls.
fn what_a_call_loses(call: &mut Call) {
    call.set_tenant(None);
    match call {
        Call::SendMessage(send) => of_send(send),
        Call::SendStreamingMessage(send) => of_send(&mut send.0),
        Call::ListTaskPushNotificationConfigs(list) => {
            list.page_size = 0;
            list.page_token = None;
        }
        _ => {}
    }
}

fn of_send(send: &mut nuncio_model::op::SendMessageRequest) {
    of_message(&mut send.message);
    // Always said, so that it is always there.
    let configuration = send.configuration.get_or_insert_default();
    configuration.task_push_notification_config.iter_mut().for_each(|config| {
        // The message names the task.
        *config = TaskPushNotificationConfig { tenant: None, task_id: None, ..std::mem::take(config) };
    });
}

fn any_event() -> BoxedStrategy<Value> {
    any_message(&oracle::message("StreamResponse"), Side::Reply).prop_map(|message| oracle::to_json(&message)).boxed()
}

fn any_call() -> BoxedStrategy<(Method, Value)> {
    let service = oracle::POOL.get_service_by_name(nuncio_wire::proto::SERVICE).unwrap();
    let calls = service.methods().filter(|call| call.name() != "ListTasks").map(|call| {
        let method = Method::from_name(call.name()).unwrap();
        any_message(&call.input(), Side::Request).prop_map(move |message| (method, oracle::to_json(&message))).boxed()
    });
    Union::new(calls).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn events_lose_only_what_the_list_says(message in any_event()) {
        let mut model = event(v10(), &message);
        let older = written(v03(), &model);
        schema::check_result("message/stream", &older);
        what_is_lost(&mut model);
        prop_assert_eq!(event(v03(), &older), model);
    }

    #[test]
    fn calls_lose_only_what_the_list_says((method, message) in any_call()) {
        let mut call = super::read(v10(), method, &message).unwrap();
        let params = v03().encode_call(&call).unwrap();
        schema::check_params(v03().method_name(method).unwrap(), &json(params.get().as_bytes()));
        what_a_call_loses(&mut call);
        let params = RawValue::from_string(params.get().to_owned()).unwrap();
        prop_assert_eq!(v03().decode_call(method, Some(&params)).unwrap(), call);
    }
}
