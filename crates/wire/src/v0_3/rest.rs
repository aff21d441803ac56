//! HTTP+JSON of 0.2.6 and 0.3: the paths of `proto/a2a/v1/a2a.proto`, and its messages as JSON.
//!
//! The text of 0.3 has bodies like those of JSON-RPC, and every SDK has the messages of the proto. Those are what is
//! written; both are read.

mod call;
mod event;
mod outgoing;
mod reply;
mod route;

use http::StatusCode;
use nuncio_model::{Call, Error, Method, Reply, StreamResponse};

use super::{Family, proto};
use crate::{
    dialect::{Dialect, Events, RestDialect, sealed::Sealed},
    json,
    rest::{Outgoing, RouteError, Routed},
    status,
};

#[derive(Debug)]
pub(super) struct Rest(pub(super) &'static Family);

impl Sealed for Rest {}

impl Events for Rest {
    fn slot(&self) -> usize {
        2
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        json::write(&proto::reply::StreamResponse::from(event), to);
    }

    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error> {
        event::read(json)
    }
}

impl RestDialect for Rest {
    fn dialect(&self) -> &'static dyn Dialect {
        self.0
    }

    fn content_type(&self) -> &'static str {
        "application/json"
    }

    fn route(&self, http_method: &http::Method, path: &str) -> Result<Routed, RouteError> {
        route::find(&self.0.habits, http_method, path)
    }

    fn decode_call(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error> {
        let mut call = call::read(routed, query, body)?;
        self.0.habits.settle_history(&mut call);
        Ok(call)
    }

    fn encode_call(&self, call: &Call) -> Result<Outgoing, Error> {
        outgoing::write(call)
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        reply::write(self.0, method, reply, to)
    }

    fn decode_reply(&self, method: Method, body: &[u8]) -> Result<Reply, Error> {
        reply::read(method, body)
    }

    fn encode_error(&self, error: &Error, status: Option<StatusCode>, to: &mut Vec<u8>) -> StatusCode {
        status::facts::write(status::row(error.kind()).jsonrpc, error, to);
        let status = status.or_else(|| StatusCode::from_u16(status::named::http(error.kind())).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
