//! JSON-RPC of 0.2 and 0.3.

use bytes::Bytes;
use nuncio_model::{Call, Error, ErrorKind, Method, Reply, StreamEvent, StreamResponse};
use serde_json::value::RawValue;

use super::Family;
use crate::{
    dialect::{Dialect, Events, JsonRpcDialect, sealed::Sealed},
    json, status,
};

#[derive(Debug)]
pub(super) struct JsonRpc(pub(super) &'static Family);

/// Where a [`StreamEvent`] keeps its JSON of this family.
const SLOT: usize = 1;

impl Sealed for JsonRpc {}

impl Events for JsonRpc {
    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        json::write(event, to);
    }

    fn shared_event<'event>(&self, event: &'event StreamEvent) -> &'event Bytes {
        event.encoded(SLOT, |event| {
            let mut to = Vec::with_capacity(512);
            self.encode_event(event, &mut to);
            to.into()
        })
    }

    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error> {
        json::answer(json)
    }
}

impl JsonRpcDialect for JsonRpc {
    fn dialect(&self) -> &'static dyn Dialect {
        self.0
    }

    fn method(&self, _name: &str) -> Option<Method> {
        None
    }

    fn method_name(&self, _method: Method) -> Option<&'static str> {
        None
    }

    fn decode_call(&self, method: Method, _params: Option<&RawValue>) -> Result<Call, Error> {
        Err(crate::dialect::wrong_reply(method))
    }

    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error> {
        Err(crate::dialect::wrong_reply(call.method()))
    }

    fn encode_reply(&self, method: Method, _reply: &Reply, _to: &mut Vec<u8>) -> Result<(), Error> {
        Err(crate::dialect::wrong_reply(method))
    }

    fn decode_reply(&self, method: Method, _result: &[u8]) -> Result<Reply, Error> {
        Err(crate::dialect::wrong_reply(method))
    }

    fn encode_error(&self, error: &Error, to: &mut Vec<u8>) {
        json::write(error.message(), to);
    }

    fn kind_of_code(&self, code: i64) -> Option<ErrorKind> {
        status::kind_of_jsonrpc(code)
    }
}
