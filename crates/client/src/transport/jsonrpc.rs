//! The client side of JSON-RPC over HTTP (section 9).

use std::sync::atomic::{AtomicI64, Ordering};

use http::{HeaderValue, Method as Verb, header};
use nuncio_model::{Caller, Calling, Error, ErrorKind, Method, Reply, Request, StreamResponse};
use nuncio_wire::{
    JsonRpcDialect,
    jsonrpc::{self, Id},
};
use serde::Deserialize;

use super::{Link, full_answer::FullAnswer, sse};
use crate::{failure::PeerCode, http::Answer};

/// One endpoint for all methods.
pub(crate) struct JsonRpc {
    link: Link,
    dialect: &'static dyn JsonRpcDialect,
    next_id: AtomicI64,
}

impl JsonRpc {
    pub(crate) fn new(link: Link, dialect: &'static dyn JsonRpcDialect) -> Self {
        Self { link, dialect, next_id: AtomicI64::new(1) }
    }

    /// Sends a request. Returns the answer and the id that the answer must have.
    async fn send(&self, method: Method, request: Request) -> Result<(Answer, Id), Error> {
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        sse::resume(&request, &mut headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if method.is_streaming() { "text/event-stream, application/json" } else { "application/json" };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let id = Id::from(self.next_id.fetch_add(1, Ordering::Relaxed));
        let name = self.dialect.method_name(method).ok_or_else(|| self.link.lacks(self.dialect.dialect(), method))?;
        let params = self.dialect.encode_call(&self.link.call(request.call))?;
        let body = jsonrpc::write_request(&id, name, Some(&params));
        Ok((self.link.send(method, Verb::POST, "", headers, body).await?, id))
    }

    /// Reads a document that the version serves outside of JSON-RPC.
    async fn fetch(&self, path: &str, request: Request) -> Result<Reply, Error> {
        let method = request.call.method();
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let answer = self.link.send(method, Verb::GET, path, headers, Vec::new()).await?;
        let full = FullAnswer::of(answer, self.link.max_message()).await?;
        if !full.is_success() {
            return Err(full.refusal());
        }
        self.dialect.decode_reply(method, &full.body)
    }

    async fn read(&self, method: Method, (answer, own): (Answer, Id)) -> Result<Reply, Error> {
        let full = FullAnswer::of(answer, self.link.max_message()).await?;
        if full.is_http_json_error() {
            return Err(full.refusal());
        }
        match jsonrpc::parse_response(self.dialect, &full.body) {
            Ok((id, result)) => {
                answers(&id, &own)?;
                let result = result.map_err(|error| full.with_http_status(numbered(error, &full.body)))?;
                self.dialect.decode_reply(method, result.get().as_bytes())
            }
            Err(_) if !full.is_success() => Err(full.refusal()),
            Err(error) => Err(error),
        }
    }

    /// The stream of an answer.
    async fn open(&self, (answer, own): (Answer, Id)) -> Result<Reply, Error> {
        let dialect = self.dialect;
        let read = move |data: &str| event(dialect, &own, data);
        if answer.status.is_success() && answer.is("text/event-stream") {
            let events = sse::events(answer, self.link.max_message(), read);
            return Ok(Reply::Events(if dialect.refuses_in_stream() { sse::accepted(events).await? } else { events }));
        }
        let full = FullAnswer::of(answer, self.link.max_message()).await?;
        let is_refusal = || !full.is_success() && jsonrpc::parse_response(self.dialect, &full.body).is_err();
        if full.is_http_json_error() || is_refusal() {
            return Err(full.refusal());
        }
        full.check_filled(&self.link.base)?;
        // The agent does not stream. Its only answer becomes the stream.
        let only = read(&String::from_utf8_lossy(&full.body));
        Ok(sse::only(only.map_err(|error| if full.is_success() { error } else { full.with_http_status(error) })?))
    }
}

impl Caller for JsonRpc {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let method = request.call.method();
            let work = async {
                match self.dialect.beside(method) {
                    Some(path) => self.fetch(path, request).await,
                    None if method.is_streaming() => self.open(self.send(method, request).await?).await,
                    None => self.read(method, self.send(method, request).await?).await,
                }
            };
            self.link.within(self.dialect.dialect(), method, work).await
        })
    }
}

/// Each `data` of a stream is a whole response (section 9.4.2).
fn event(dialect: &dyn JsonRpcDialect, own: &Id, data: &str) -> Result<StreamResponse, Error> {
    let (id, result) = jsonrpc::parse_response(dialect, data.as_bytes())?;
    answers(&id, own)?;
    dialect.decode_event(result.map_err(|error| numbered(error, data.as_bytes()))?.get().as_bytes())
}

/// Fails if an answer belongs to another request. An answer without an id, or with null, is accepted: errors have no id
/// if the agent could not read the request. Some peers send all ids as text.
fn answers(id: &Id, own: &Id) -> Result<(), Error> {
    if id.is_null() || id == own || *id == Id::from(&*own.to_string()) {
        return Ok(());
    }
    let message = format!("the agent's answer has the id {id}, but the request has the id {own}");
    Err(Error::new(ErrorKind::InvalidAgentResponse, message))
}

/// The error with the code from the response. Several codes have the same kind, and unknown codes have no kind.
fn numbered(error: Error, response: &[u8]) -> Error {
    #[derive(Deserialize)]
    struct Response {
        error: Numbered,
    }
    #[derive(Deserialize)]
    struct Numbered {
        code: i64,
    }
    match serde_json::from_slice::<Response>(response) {
        Ok(response) => error.with_source(PeerCode::JsonRpc(response.error.code)),
        // The error has no code, or the code is not a number.
        Err(_) => error,
    }
}
