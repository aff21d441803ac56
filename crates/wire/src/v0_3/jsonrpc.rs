//! JSON-RPC of 0.2 and 0.3: methods are paths, results are bare, and objects say their `kind` (section 7).

use nuncio_model::{Call, Error, ErrorKind, Method, Reply, StreamResponse};
use serde_json::value::RawValue;

use super::{Family, call, kind, reply};
use crate::{
    dialect::{Dialect, Events, JsonRpcDialect, sealed::Sealed},
    status,
};

#[derive(Debug)]
pub(super) struct OlderJsonRpc(pub(super) &'static Family);

/// The names of the methods; the first of an operation is what a client says.
const METHODS: &[(&str, Method)] = &[
    ("message/send", Method::SendMessage),
    ("message/stream", Method::SendStreamingMessage),
    ("tasks/get", Method::GetTask),
    ("tasks/cancel", Method::CancelTask),
    ("tasks/resubscribe", Method::SubscribeToTask),
    ("tasks/pushNotificationConfig/set", Method::CreateTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/get", Method::GetTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/list", Method::ListTaskPushNotificationConfigs),
    ("tasks/pushNotificationConfig/delete", Method::DeleteTaskPushNotificationConfig),
    ("agent/getAuthenticatedExtendedCard", Method::GetExtendedAgentCard),
    // Drafts have it; it is refused, and the reason given.
    ("tasks/list", Method::ListTasks),
    // What the text of 0.2.6 calls it (D-4).
    ("agent/authenticatedExtendedCard", Method::GetExtendedAgentCard),
    // The names of 0.1, by which some peers of 0.2 still call. With the params of 0.1 the call is one of 0.1.
    ("tasks/pushNotification/set", Method::CreateTaskPushNotificationConfig),
    ("tasks/pushNotification/get", Method::GetTaskPushNotificationConfig),
];

impl Sealed for OlderJsonRpc {}

impl Events for OlderJsonRpc {
    fn slot(&self) -> usize {
        1
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        kind::write_event(event, to);
    }

    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error> {
        kind::read_event(json)
    }
}

impl JsonRpcDialect for OlderJsonRpc {
    fn dialect(&self) -> &'static dyn Dialect {
        self.0
    }

    /// Clients of these versions take nothing but a stream for an answer to a call for one.
    fn refuses_in_stream(&self) -> bool {
        true
    }

    fn method(&self, name: &str) -> Option<Method> {
        METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method)
    }

    fn method_name(&self, method: Method) -> Option<&'static str> {
        if method == Method::ListTasks || self.beside(method).is_some() {
            return None;
        }
        METHODS.iter().find(|(_, known)| *known == method).map(|(name, _)| *name)
    }

    fn beside(&self, method: Method) -> Option<&'static str> {
        self.0.habits.extended_card.filter(|_| method == Method::GetExtendedAgentCard)
    }

    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error> {
        let mut call = call::read(method, params.map_or("{}", RawValue::get))?;
        self.0.habits.settle_history(&mut call);
        Ok(call)
    }

    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        call::field_name(method, field)
    }

    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error> {
        call::write(call)
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        reply::write(self.0.version, method, reply, to)
    }

    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error> {
        reply::read(method, result)
    }

    fn encode_error(&self, error: &Error, to: &mut Vec<u8>) {
        status::facts::write(status::row(error.kind()).jsonrpc, error, to);
    }

    fn kind_of_code(&self, code: i64) -> Option<ErrorKind> {
        status::kind_of_jsonrpc(code)
    }
}
