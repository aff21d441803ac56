//! JSON-RPC of 0.2 and 0.3 (section 7): methods are paths, results are not wrapped, and objects have a `kind`.

use nuncio_model::{Call, Error, ErrorKind, Method, Reply, StreamResponse};
use serde_json::value::RawValue;

use super::{Family, call, kind, reply};
use crate::{
    dialect::{Dialect, Events, JsonRpcDialect, sealed::Sealed},
    json, status,
};

#[derive(Debug)]
pub(super) struct OlderJsonRpc(pub(super) &'static Family);

/// The names of the methods. A client uses the first name of an operation.
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
    // Drafts have this method. The server refuses the call with a reason.
    ("tasks/list", Method::ListTasks),
    // The name in the text of 0.2.6 and in section 11.1.3 of 0.3. Section 7.10 of 0.3 has the other name.
    ("agent/authenticatedExtendedCard", Method::GetExtendedAgentCard),
    // The names of 0.1, which some peers of 0.2 still use. A call with the params of 0.1 is a call of 0.1.
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

    /// Clients of these versions accept only a stream as the answer to a streaming call.
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
        let params = params.map_or("{}", RawValue::get);
        let mut call = json::every_param(params, |params| call::read(method, params))?;
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
