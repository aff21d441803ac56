//! gRPC: one HTTP/2 stream a call (section 10), a table over the methods with the bytes of [`nuncio_wire::proto`].
//!
//! Written over HTTP bodies directly: what gRPC adds to HTTP/2 is five bytes in front of each message, and the outcome in
//! trailers. A call that fails before its first message is answered by trailers alone, which HTTP shows as headers.

mod body;
mod deadline;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version as HttpVersion, header, request::Parts};
use http_body_util::combinators::UnsyncBoxBody;
use nuncio_model::{Error, ErrorKind, Method, Principal};
use nuncio_wire::{
    Version,
    proto::{
        self,
        frame::{self, Frames},
        metadata,
    },
};

use self::{
    body::{Many, Single},
    deadline::Deadline,
};
use crate::{
    body::{Body, RequestBody},
    head,
    read::read_body,
    service::{Answer, Outcome, Service},
};

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static(metadata::CONTENT_TYPE);
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// How large the buffer of a reply is to begin with: most fit.
const USUAL_REPLY: usize = 1024;

/// Answers a request whose body is of gRPC's type, whatever its path.
pub(super) async fn answer(service: &Service, principal: Principal, head: Parts, body: RequestBody) -> Response<Body> {
    if let Some(status) = refuse_http(&head) {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = status;
        return response;
    }
    call(service, principal, &head, body).await.unwrap_or_else(|error| refuse(&error))
}

/// What is wrong below gRPC is answered by HTTP.
fn refuse_http(head: &Parts) -> Option<StatusCode> {
    if head.version != HttpVersion::HTTP_2 {
        Some(StatusCode::HTTP_VERSION_NOT_SUPPORTED)
    } else if head.method != http::Method::POST {
        Some(StatusCode::METHOD_NOT_ALLOWED)
    } else {
        None
    }
}

/// Says no: trailers and nothing else, in the head.
pub(super) fn refuse(error: &Error) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    if error.kind() == ErrorKind::MethodNotFound {
        // Also said of compression that is not known here; then this is what is known.
        headers.insert(metadata::ACCEPT_ENCODING, IDENTITY);
    }
    metadata::write_error(error, headers);
    response
}

async fn call(
    service: &Service,
    principal: Principal,
    head: &Parts,
    body: RequestBody,
) -> Result<Response<Body>, Error> {
    let path = service.cards.site().path(&head.uri);
    let method = proto::method_of_path(path).ok_or_else(|| unknown(path))?;
    refuse_compression(&head.headers)?;
    let mut deadline = Deadline::of(&head.headers)?;
    service.versions.expect(head::version(head).as_deref(), Version::V1_0)?;
    let answer = deadline.bound(async {
        let message = read_message(service, head, body).await?;
        let call = proto::decode_call(method, &message)?;
        service.call(principal, head, call).await
    });
    let answer = answer.await?;
    respond(service, method, answer, deadline)
}

/// Reads the one message that a request is.
async fn read_message(service: &Service, head: &Parts, body: RequestBody) -> Result<Bytes, Error> {
    let mut limits = service.body_limits;
    let mut frames = Frames::new(limits.size);
    limits.size += frame::HEADER;
    frames.push(read_body(body, &head.headers, limits).await?);
    let message = frames.next()?;
    let message = message.ok_or_else(|| Error::new(ErrorKind::InvalidRequest, "the request holds no message"))?;
    if frames.next()?.is_some() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request holds more than one message"));
    }
    frames.finish()?;
    Ok(message)
}

fn respond(service: &Service, method: Method, answer: Answer, deadline: Deadline) -> Result<Response<Body>, Error> {
    let limit = service.body_limits.size;
    let body = match answer.outcome {
        Outcome::Events(events, permit) => {
            UnsyncBoxBody::new(Many::new(events, limit, deadline, &service.drain, permit))
        }
        Outcome::Reply(reply) => {
            let mut message = Vec::with_capacity(USUAL_REPLY);
            frame::write(&mut message, limit, |to| proto::encode_reply(method, &reply, to))?;
            UnsyncBoxBody::new(Single::new(message))
        }
    };
    let mut response = Response::new(Body::Boxed(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    head::echo_extensions(&answer.extensions, headers);
    Ok(response)
}

fn unknown(path: &str) -> Error {
    Error::new(ErrorKind::MethodNotFound, format!("there is no method {path}"))
}

/// Nothing is compressed here: a client that does is told what it may do instead.
fn refuse_compression(headers: &HeaderMap) -> Result<(), Error> {
    match headers.get(metadata::ENCODING) {
        Some(encoding) if encoding != IDENTITY => {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            Err(Error::new(ErrorKind::MethodNotFound, format!("messages compressed by {encoding} are not read here")))
        }
        _ => Ok(()),
    }
}
