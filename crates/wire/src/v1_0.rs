//! Version 1.0: the model's own names and JSON, so there is little to turn (sections 5 and 9).

mod call;
mod outgoing;
mod reply;
mod rest;
mod route;

use bytes::Bytes;
use nuncio_model::{AgentCard, Call, Error, Method, Reply, StreamEvent, StreamResponse, Validate};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    dialect::{Dialect, Version, sealed::Sealed},
    json, status,
};

/// The dialect of version 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1_0;

/// Where a [`StreamEvent`] keeps its JSON of this version.
const SLOT: usize = 0;

impl Sealed for V1_0 {}

impl Dialect for V1_0 {
    fn version(&self) -> Version {
        Version::V1_0
    }

    fn method(&self, name: &str) -> Option<Method> {
        Method::from_name(name)
    }

    fn method_name(&self, method: Method) -> &'static str {
        method.name()
    }

    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error> {
        let call = call::read(method, &call::Source::Params(params.map_or("{}", RawValue::get)))?;
        call.validate()?;
        Ok(call)
    }

    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error> {
        Ok(call::write(call))
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        reply::write(method, reply, to)
    }

    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error> {
        reply::read(method, result)
    }

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

    fn encode_card(&self, card: &AgentCard) -> Vec<u8> {
        let mut to = Vec::with_capacity(2048);
        json::write(card, &mut to);
        to
    }

    fn decode_card(&self, json: &[u8]) -> Result<AgentCard, Error> {
        json::answer(json)
    }

    fn encode_error(&self, error: &Error, to: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct ErrorObject<'a> {
            code: i32,
            message: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            data: Vec<status::DetailJson<'a>>,
        }
        let details = status::details(error);
        let data = details.iter().map(status::DetailJson).collect();
        json::write(&ErrorObject { code: status::row(error.kind()).jsonrpc, message: error.message(), data }, to);
    }
}
