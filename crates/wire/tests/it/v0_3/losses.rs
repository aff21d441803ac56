//! The facts that the model loses when it passes through 0.3: exactly those in the table of `docs/versions.md`.

use nuncio_model::{Call, Method, Role, StreamResponse, op::SendMessageRequest};
use proptest::{prelude::*, strategy::Union};
use serde_json::{Value, value::RawValue};

use super::{event, schema, v03, v10, written};
use crate::{
    losses::{About, Ledger, Way, any_event, artifacts, hold, messages},
    proto::{
        oracle,
        round_trip::{Side, any_message},
    },
    spec::json,
};

fn of_event(ledger: &Ledger, event: &mut StreamResponse) {
    for message in messages(event) {
        of_message(ledger, message);
    }
    for artifact in artifacts(event) {
        artifact.parts.for_each_mut(|part| ledger.of_part(part));
    }
}

fn of_message(ledger: &Ledger, message: &mut nuncio_model::Message) {
    // A role must be `user` or `agent`.
    if message.role == Role::Unspecified {
        ledger.lose("Role.ROLE_UNSPECIFIED", &mut message.role, Role::Agent);
    }
    message.parts.iter_mut().for_each(|part| ledger.of_part(part));
}

fn of_call(ledger: &Ledger, call: &mut Call) {
    ledger.of_tenant(call);
    match call {
        Call::SendMessage(send) => of_send(ledger, send),
        Call::SendStreamingMessage(send) => of_send(ledger, &mut send.0),
        Call::ListTaskPushNotificationConfigs(list) => {
            ledger.lose("ListTaskPushNotificationConfigsRequest.pageSize", &mut list.page_size, 0);
            ledger.lose("ListTaskPushNotificationConfigsRequest.pageToken", &mut list.page_token, None);
        }
        _ => {}
    }
}

fn of_send(ledger: &Ledger, send: &mut SendMessageRequest) {
    of_message(ledger, &mut send.message);
    // The configuration is always written, so that `blocking` is always present.
    let configuration = send.configuration.get_or_insert_default();
    if let Some(config) = &mut configuration.task_push_notification_config {
        ledger.lose("*.tenant", &mut config.tenant, None);
        // The message names the task.
        ledger.lose("TaskPushNotificationConfig.taskId", &mut config.task_id, None);
    }
}

fn any_call() -> BoxedStrategy<(Method, Value)> {
    let service = oracle::POOL.get_service_by_name(nuncio_wire::proto::SERVICE).unwrap();
    let calls = service.methods().filter(|call| call.name() != "ListTasks").map(|call| {
        let method = Method::from_name(call.name()).unwrap();
        any_message(&call.input(), Side::Request).prop_map(move |message| (method, oracle::to_json(&message))).boxed()
    });
    Union::new(calls).boxed()
}

#[test]
fn events_lose_exactly_the_documented_fields() {
    hold((Way::Kinded, About::Events), 512, &any_event(), |ledger, mut model| {
        let older = written(v03(), &model);
        schema::check_result("message/stream", &older);
        of_event(ledger, &mut model);
        prop_assert_eq!(event(v03(), &older), model);
        Ok(())
    });
}

#[test]
fn calls_lose_exactly_the_documented_fields() {
    hold((Way::Kinded, About::Calls), 512, &any_call(), |ledger, (method, message)| {
        let mut call = super::read(v10(), method, &message).unwrap();
        let params = v03().encode_call(&call).unwrap();
        schema::check_params(v03().method_name(method).unwrap(), &json(params.get().as_bytes()));
        of_call(ledger, &mut call);
        let params = RawValue::from_string(params.get().to_owned()).unwrap();
        prop_assert_eq!(v03().decode_call(method, Some(&params)).unwrap(), call);
        Ok(())
    });
}
