//! HTTP+JSON of 0.2.6 and 0.3: the paths of `proto/a2a/v1/a2a.proto`, and its messages as JSON.
//!
//! The text of 0.3 describes bodies like those of JSON-RPC, but all SDKs use the messages of the proto. The messages of
//! the proto are written. Both forms are read.

mod call;
mod event;
mod outgoing;
mod reply;
mod route;

use http::StatusCode;
use nuncio_model::{Call, Error, Method, Reply, StreamResponse};

use super::{Family, files, proto};
use crate::{
    dialect::{Dialect, Events, FileBytes, RestDialect, sealed::Sealed},
    json,
    rest::{Outgoing, RouteError, Routed},
    status,
};

#[derive(Debug)]
pub(super) struct OlderRest(pub(super) &'static Family);

impl Sealed for OlderRest {}

impl Events for OlderRest {
    fn slot(&self) -> usize {
        match self.0.files {
            FileBytes::Raw => 2,
            FileBytes::Base64 => 4,
        }
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        json::write(&proto::reply::StreamResponse::from(&*files::written(self.0.files, event)), to);
    }

    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error> {
        event::read(json).map(|event| files::read(self.0.files, event))
    }
}

impl RestDialect for OlderRest {
    fn dialect(&self) -> &'static dyn Dialect {
        self.0
    }

    fn content_type(&self) -> &'static str {
        "application/json"
    }

    fn route(&self, http_method: &http::Method, path: &str) -> Result<Routed, RouteError> {
        route::find(&self.0.habits, http_method, path)
    }

    fn falls_back_to_public_card(&self) -> bool {
        self.0.habits.extended_card.is_none()
    }

    fn owns(&self, path: &str) -> bool {
        route::is_here(&self.0.habits, path)
    }

    fn decode_call(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error> {
        let mut call = json::every_member(body, |body| call::read(routed, query, body))?;
        self.0.habits.settle_history(&mut call);
        Ok(files::read(self.0.files, call))
    }

    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        proto::request::field_name(method, field)
    }

    fn encode_call(&self, call: &Call) -> Result<Outgoing, Error> {
        outgoing::write(&files::written(self.0.files, call))
    }

    /// The verb of a subscription is POST in the text (section 7.9 `tasks/resubscribe`) and GET in the proto. Some
    /// servers that follow the text do not find the path with the other verb. Servers that follow the annotation of the
    /// proto accept a webhook without the member that names its task.
    fn encode_again(&self, call: &Call, status: StatusCode) -> Option<Outgoing> {
        match (call, status) {
            (Call::SubscribeToTask(_), StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND) => {
                outgoing::write(call).ok().map(Outgoing::with_other_verb)
            }
            (Call::CreateTaskPushNotificationConfig(config), StatusCode::BAD_REQUEST) => {
                Some(outgoing::bare_webhook(config))
            }
            _ => None,
        }
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        let encoded = files::written_reply(self.0.files, reply);
        reply::write(self.0, method, encoded.as_ref().unwrap_or(reply), to)
    }

    fn decode_reply(&self, method: Method, body: &[u8]) -> Result<Reply, Error> {
        reply::read(method, body).map(|reply| files::read(self.0.files, reply))
    }

    fn encode_error(&self, error: &Error, status: Option<StatusCode>, to: &mut Vec<u8>) -> StatusCode {
        status::facts::write(status::row(error.kind()).jsonrpc, error, to);
        let status = status.or_else(|| StatusCode::from_u16(status::named::http(error.kind())).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
