//! JSON-RPC over HTTP (section 9), from the client's side.

use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use http::{HeaderValue, Method as Verb, header};
use nuncio_model::{Error, Method, Reply, Request, StreamResponse};
use nuncio_wire::{
    JsonRpcDialect,
    jsonrpc::{self, Id},
};
use serde::Deserialize;

use super::{Link, Transport, sse, whole::Whole};
use crate::{failure::PeerCode, http::Answer};

/// One endpoint that takes every method.
pub(crate) struct JsonRpc {
    link: Link,
    dialect: &'static dyn JsonRpcDialect,
    next_id: AtomicI64,
}

impl JsonRpc {
    pub(crate) fn new(link: Link, dialect: &'static dyn JsonRpcDialect) -> Self {
        Self { link, dialect, next_id: AtomicI64::new(1) }
    }

    async fn send(&self, method: Method, request: Request) -> Result<Answer, Error> {
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        sse::resume(&request, &mut headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if method.is_streaming() { "text/event-stream, application/json" } else { "application/json" };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let id = Id::from(self.next_id.fetch_add(1, Ordering::Relaxed));
        let name = self.dialect.method_name(method).ok_or_else(|| self.link.lacks(self.dialect.dialect(), method))?;
        let params = self.dialect.encode_call(&self.link.call(request.call))?;
        let body = jsonrpc::write_request(&id, name, Some(&params));
        self.link.send(method, Verb::POST, "", headers, body).await
    }

    /// Reads what the version has beside JSON-RPC.
    async fn fetch(&self, path: &str, request: Request) -> Result<Reply, Error> {
        let method = request.call.method();
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let answer = self.link.send(method, Verb::GET, path, headers, Vec::new()).await?;
        let whole = Whole::of(answer, self.link.max_message()).await?;
        if !whole.is_success() {
            return Err(whole.refusal());
        }
        self.dialect.decode_reply(method, &whole.body)
    }

    async fn read(&self, method: Method, answer: Answer) -> Result<Reply, Error> {
        let whole = Whole::of(answer, self.link.max_message()).await?;
        match jsonrpc::parse_response(self.dialect, &whole.body) {
            Ok((_, result)) => self
                .dialect
                .decode_reply(method, result.map_err(|error| numbered(error, &whole.body))?.get().as_bytes()),
            Err(_) if !whole.is_success() => Err(whole.refusal()),
            Err(error) => Err(error),
        }
    }

    /// The stream that an answer begins.
    async fn open(&self, answer: Answer) -> Result<Reply, Error> {
        let dialect = self.dialect;
        let read = move |data: &str| event(dialect, data);
        if answer.status.is_success() && answer.is("text/event-stream") {
            let events = sse::events(answer, self.link.max_message(), read);
            return Ok(Reply::Events(if dialect.refuses_in_stream() { sse::accepted(events).await? } else { events }));
        }
        let whole = Whole::of(answer, self.link.max_message()).await?;
        if !whole.is_success() && jsonrpc::parse_response(self.dialect, &whole.body).is_err() {
            return Err(whole.refusal());
        }
        // An agent that does not stream after all: its one answer is the stream.
        Ok(sse::only(read(&String::from_utf8_lossy(&whole.body))?))
    }
}

#[async_trait]
impl Transport for JsonRpc {
    async fn call(&self, request: Request) -> Result<Reply, Error> {
        let method = request.call.method();
        let work = async {
            match self.dialect.beside(method) {
                Some(path) => self.fetch(path, request).await,
                None if method.is_streaming() => self.open(self.send(method, request).await?).await,
                None => self.read(method, self.send(method, request).await?).await,
            }
        };
        self.link.within(self.dialect.dialect(), method, work).await
    }
}

/// Each `data` of a stream is a whole response (RPC-6).
fn event(dialect: &dyn JsonRpcDialect, data: &str) -> Result<StreamResponse, Error> {
    let (_, result) = jsonrpc::parse_response(dialect, data.as_bytes())?;
    dialect.decode_event(result.map_err(|error| numbered(error, data.as_bytes()))?.get().as_bytes())
}

/// The error with the number that it has in a response, as the peer wrote it: several are of one kind, and some of none
/// that is known.
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
        // It has none, or one that is no number.
        Err(_) => error,
    }
}
