//! The client side of HTTP+JSON (section 11).

use http::{HeaderMap, HeaderValue, StatusCode, header};
use nuncio_model::{Caller, Calling, Error, Method, Reply, Request, StreamResponse};
use nuncio_wire::{RestDialect, rest::Outgoing};

use super::{Link, full_answer::FullAnswer, sse};
use crate::http::Answer;

/// A verb and a path for each operation.
pub(crate) struct Rest {
    link: Link,
    dialect: &'static dyn RestDialect,
}

impl Rest {
    pub(crate) fn new(link: Link, dialect: &'static dyn RestDialect) -> Self {
        Self { link, dialect }
    }

    async fn send(&self, method: Method, request: Request) -> Result<Answer, Error> {
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        sse::resume(&request, &mut headers);
        let accept = "application/a2a+json, application/json";
        let accept = if method.is_streaming() { format!("text/event-stream, {accept}") } else { accept.to_owned() };
        headers.insert(header::ACCEPT, HeaderValue::try_from(accept).map_err(Error::internal)?);
        let call = self.link.call(request.call);
        let answer = self.send_as(method, self.dialect.encode_call(&call)?, &headers).await?;
        let Some(other) = self.dialect.encode_again(&call, answer.status) else { return Ok(answer) };
        let again = self.send_as(method, other, &headers).await?;
        // An error about the request itself has precedence over the error of the second attempt. A missing path says
        // less than the second error.
        let is_wrong = answer.status == StatusCode::BAD_REQUEST && !again.status.is_success();
        Ok(if is_wrong { answer } else { again })
    }

    async fn send_as(&self, operation: Method, outgoing: Outgoing, headers: &HeaderMap) -> Result<Answer, Error> {
        let Outgoing { method, path, body } = outgoing;
        let mut headers = headers.clone();
        if body.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.dialect.content_type()));
        }
        self.link.send(operation, method, &path, headers, body.unwrap_or_default()).await
    }

    async fn read(&self, method: Method, answer: Answer) -> Result<Reply, Error> {
        let full = FullAnswer::of(answer, self.link.max_message()).await?;
        if full.is_success() { self.dialect.decode_reply(method, &full.body) } else { Err(full.refusal()) }
    }

    /// The stream of an answer.
    async fn open(&self, answer: Answer) -> Result<Reply, Error> {
        let dialect = self.dialect;
        let read = move |data: &str| event(dialect, data);
        if answer.status.is_success() && answer.is("text/event-stream") {
            return Ok(Reply::Events(sse::events(answer, self.link.max_message(), read)));
        }
        let full = FullAnswer::of(answer, self.link.max_message()).await?;
        if !full.is_success() {
            return Err(full.refusal());
        }
        full.check_filled(&self.link.base)?;
        // The agent does not stream. Its only answer becomes the stream.
        Ok(sse::only(read(&String::from_utf8_lossy(&full.body))?))
    }
}

impl Caller for Rest {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let method = request.call.method();
            let work = async {
                let answer = self.send(method, request).await?;
                if method.is_streaming() { self.open(answer).await } else { self.read(method, answer).await }
            };
            self.link.within(self.dialect.dialect(), method, work).await
        })
    }
}

/// Each `data` of a stream is an event without an envelope (section 11.7).
fn event(dialect: &dyn RestDialect, data: &str) -> Result<StreamResponse, Error> {
    dialect.decode_event(data.as_bytes()).map_err(|error| sse::error_in(data).unwrap_or(error))
}
