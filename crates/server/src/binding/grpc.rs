//! gRPC: one HTTP/2 stream for each call (section 10), and a table of methods with the encodings of
//! [`nuncio_wire::proto`].
//!
//! This module works on HTTP bodies directly, because gRPC adds little to HTTP/2: a header of five bytes before each
//! message, and the outcome in trailers. A call that fails before its first message has trailers only, which HTTP shows
//! as headers.

mod body;
mod deadline;
mod health;
mod reflection;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version as HttpVersion, header, request::Parts};
use http_body_util::combinators::UnsyncBoxBody;
use nuncio_model::{Error, ErrorKind, Method, Principal, Reply, card::binding};
use nuncio_wire::{
    GrpcDialect, Version, dialect,
    proto::{
        self,
        frame::{self, Frames},
        metadata,
    },
};

pub(super) use self::health::answer as health;
use self::{
    body::{Many, Single},
    deadline::Deadline,
};
use super::Binding;
use crate::{
    answers::{Encoding, Outgoing},
    body::{Body, RequestBody},
    head,
    read::BodyLimits,
    service::{Answer, Incoming, Outcome, Service, Written, log_unwritten},
};

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static(metadata::CONTENT_TYPE);
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The initial size of a reply's buffer. Most replies fit.
const USUAL_REPLY: usize = 1024;

/// Answers a request with a body of gRPC's media type, for every path.
pub(super) async fn answer(service: &Service, principal: Principal, head: &Parts, body: RequestBody) -> Response<Body> {
    if let Some(refusal) = refuse_http(head) {
        return refusal;
    }
    let path = service.route(&head.uri, &head.headers).path;
    if proto::reflection::PATHS.contains(&path) {
        return reflection::answer(service, &principal, body).unwrap_or_else(|error| refuse(&error));
    }
    let (dialect, method) = match service.versions.for_service(head::version(head).as_deref(), path) {
        Ok((dialect, method)) => {
            (service.versions.grpc_for_client(dialect, || head::user_agent(&head.headers)), method)
        }
        Err(error) => return refuse(&error),
    };
    let outcome = call(service, principal, head, body, dialect, method).await;
    outcome.unwrap_or_else(|error| {
        let mut refusal = refuse_in(dialect, &error);
        service.complete_refusal(&error, refusal.headers_mut());
        refusal
    })
}

/// Errors below gRPC have an HTTP status.
fn refuse_http(head: &Parts) -> Option<Response<Body>> {
    let status = if head.version != HttpVersion::HTTP_2 {
        StatusCode::HTTP_VERSION_NOT_SUPPORTED
    } else if head.method != http::Method::POST {
        StatusCode::METHOD_NOT_ALLOWED
    } else {
        return None;
    };
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    Some(response)
}

/// The response for an error before the version is known.
pub(super) fn refuse(error: &Error) -> Response<Body> {
    match dialect(Version::LATEST).grpc() {
        Some(dialect) => refuse_in(dialect, error),
        None => Response::new(Body::Empty),
    }
}

/// The response for an error: the trailers are in the head.
fn refuse_in(dialect: &dyn GrpcDialect, error: &Error) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    if error.kind() == ErrorKind::MethodNotFound {
        // The kind is also for an unknown compression, so the response names the supported encoding.
        headers.insert(metadata::ACCEPT_ENCODING, IDENTITY);
    }
    dialect.write_error(error, headers);
    response
}

async fn call(
    service: &Service,
    principal: Principal,
    head: &Parts,
    body: RequestBody,
    dialect: &'static dyn GrpcDialect,
    method: Method,
) -> Result<Response<Body>, Error> {
    refuse_compression(&head.headers)?;
    let mut deadline = Deadline::of(&head.headers)?;
    let answer = deadline.bound(async {
        let body = service.read(body, head, framed(service.body_limits.size, service), &principal).await?;
        let message = message(&body.bytes, service.body_limits.size)?;
        let place = service.answers.offload.place(message.len()).await;
        let read = || dialect.decode_call(method, &message);
        let call = service.clients.reading(head, &principal, || place.run(read))?;
        drop(place);
        let mount = service.mount_of(service.route(&head.uri, &head.headers), head, call.tenant())?;
        let falls_back = method == Method::GetExtendedAgentCard && dialect.falls_back_to_public_card();
        let asker = falls_back.then(|| principal.clone());
        let incoming = Incoming {
            mount,
            principal,
            head,
            dialect: dialect.dialect(),
            binding: binding::GRPC,
            extensions: Vec::new(),
        };
        let answer = service.answer(incoming, call).await;
        let answer = Service::or_public_card(mount, answer, asker, head);
        answer.map_err(|error| error.with_fields_named(|field| dialect.field_name(method, field)))
    });
    let answer = answer.await?;
    respond(service, dialect, method, answer, deadline).await
}

/// The limits of a body with a message of at most this size.
fn framed(size: usize, service: &Service) -> BodyLimits {
    BodyLimits { size, framing: frame::HEADER, ..service.body_limits }
}

/// The one message of a request.
fn message(body: &Bytes, size: usize) -> Result<Bytes, Error> {
    let mut frames = Frames::new(size);
    frames.push(body.clone());
    let message = frames.next()?;
    let message = message.ok_or_else(|| Error::new(ErrorKind::InvalidRequest, "the request has no message"))?;
    if frames.next()?.is_some() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has more than one message"));
    }
    frames.finish()?;
    Ok(message)
}

async fn respond(
    service: &Service,
    dialect: &'static dyn GrpcDialect,
    method: Method,
    answer: Answer,
    deadline: Deadline,
) -> Result<Response<Body>, Error> {
    let body = match answer.outcome {
        Outcome::Events(events, permit) => {
            let events = Outgoing::new(events, &service.answers);
            let events = Many::new(dialect, method, events, deadline, &service.drain, permit)?;
            Body::Boxed(UnsyncBoxBody::new(events))
        }
        Outcome::Reply(reply) => {
            let message = write(service, &answer.principal, dialect, method, reply).await;
            let message = message.inspect_err(|error| log_unwritten(error, method))?;
            Body::Boxed(UnsyncBoxBody::new(Single::new(message)))
        }
    };
    let mut response = head_of(body);
    head::echo_extensions(dialect.dialect(), &answer.extensions, response.headers_mut());
    Ok(response)
}

/// The frame with a reply.
async fn write(
    service: &Service,
    principal: &Principal,
    dialect: &'static dyn GrpcDialect,
    method: Method,
    reply: Reply,
) -> Result<Bytes, Error> {
    let version = dialect.dialect().version();
    let encoding = Encoding { binding: Binding::Grpc, version, slot: dialect.slot(), method };
    let framed =
        |reply: &Reply, to: &mut Vec<u8>| frame::write(to, usize::MAX, |to| dialect.encode_reply(method, reply, to));
    match service.write(principal, reply, encoding, framed, framed).await? {
        Written::Small(message) => service.full(principal, message, method).await,
        Written::Large(bytes) => Ok(bytes),
    }
}

/// A response with one message, which `write` appends, and success.
fn single(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> Result<Body, Error> {
    let mut message = Vec::with_capacity(USUAL_REPLY);
    frame::write(&mut message, usize::MAX, write)?;
    Ok(Body::Boxed(UnsyncBoxBody::new(Single::new(message.into()))))
}

/// A response with this body. The trailers of the body have the outcome.
fn head_of(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
}

/// Refuses compressed messages, because the server does not decompress. The response names the supported encoding.
fn refuse_compression(headers: &HeaderMap) -> Result<(), Error> {
    match headers.get(metadata::ENCODING) {
        Some(encoding) if encoding != IDENTITY => {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            Err(Error::new(
                ErrorKind::MethodNotFound,
                format!("the server does not support messages compressed by {encoding}"),
            ))
        }
        _ => Ok(()),
    }
}
