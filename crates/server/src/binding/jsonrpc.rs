//! JSON-RPC 2.0 over HTTP POST (section 9).
//!
//! The result of a call has status 200, also if the result is an error. Some versions want an event stream for every
//! answer to a streaming call; the error is then an event. Other statuses are for requests that fail before the server
//! reads a call, and for 401 and 403, so that HTTP tells a client about missing credentials.

use http::{HeaderValue, Method, Response, StatusCode, header, request::Parts};
use nuncio_limit::offload::Place;
use nuncio_model::{Error, ErrorKind, Principal, Reply, card::binding, leniency};
use nuncio_wire::{
    JsonRpcDialect, jsonrpc, negotiate,
    rest::{is_json, not_json},
    status,
};

use super::Binding;
use crate::{
    answers::Encoding,
    body::{Body, RequestBody},
    head,
    service::{Answer, Incoming, Outcome, Service, Written, log_unwritten, scope},
    sse::{Envelope, EventBody},
};

/// Answers a request to the root.
pub(super) async fn answer(service: &Service, principal: Principal, head: &Parts, body: RequestBody) -> Response<Body> {
    let declared = head::version(head);
    let error_dialect = || service.versions.refusing_method(declared.as_deref(), None);
    if let Some(refusal) = refuse_head(error_dialect, head) {
        return refusal;
    }
    let body = match service.read(body, head, service.body_limits, &principal).await {
        Ok(body) => body,
        Err(error) => {
            let mut refusal = refuse(error_dialect(), &error);
            service.complete_refusal(&error, refusal.headers_mut());
            return refusal;
        }
    };
    let place = service.answers.offload.place(body.bytes.len()).await;
    let incoming = match place.run(|| jsonrpc::parse_request(&body.bytes)) {
        Ok(incoming) => incoming,
        Err((id, error)) => return respond_error(service, error_dialect(), &id, &error),
    };
    let id = incoming.id.clone();
    let (dialect, outcome) = call(service, principal, head, declared.as_deref(), &incoming, place).await;
    // A notification is executed and not answered. The log has its result.
    let Some(id) = id else { return empty(StatusCode::NO_CONTENT) };
    let outcome = match outcome {
        Ok((method, answer)) => respond(service, dialect, &id, method, answer).await,
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        if !is_refused_in_stream(dialect, &incoming.method, &error) {
            return respond_error(service, dialect, &id, &error);
        }
        let mut response = EventBody::refusal(&Envelope::JsonRpc(dialect, id), &error);
        service.complete_refusal(&error, response.headers_mut());
        response
    })
}

/// Errors of credentials and permissions are HTTP responses in every version.
fn is_refused_in_stream(dialect: &dyn JsonRpcDialect, method: &str, error: &Error) -> bool {
    dialect.refuses_in_stream()
        && leniency::noting(|| dialect.method(method)).0.is_some_and(nuncio_model::Method::is_streaming)
        && status_of(error) == StatusCode::OK
}

/// The result of a call, and the dialect for the answer. `place` is the thread for decoding.
async fn call(
    service: &Service,
    principal: Principal,
    head: &Parts,
    declared: Option<&str>,
    incoming: &jsonrpc::Incoming<'_>,
    place: Place<'_>,
) -> (&'static dyn JsonRpcDialect, Result<(nuncio_model::Method, Answer), Error>) {
    let (inline, meant) = service.clients.reading(head, &principal, || {
        let inline = place.run(|| negotiate::parameters(&incoming.method, incoming.params));
        let meant = service.versions.for_method(declared.or(inline.version.as_deref()), &incoming.method);
        (inline, meant)
    });
    let declared = declared.or(inline.version.as_deref());
    let meant = match meant {
        Ok(meant) => meant,
        Err(error) => {
            return (service.versions.refusing_method(declared, Some(&incoming.method)), Err(error));
        }
    };
    let read = |dialect: &dyn JsonRpcDialect| {
        service.clients.reading(head, &principal, || -> Result<_, Error> {
            let method = dialect.method(&incoming.method);
            let method = method.ok_or_else(|| Error::internal("the dialect does not have the method"))?;
            let params = inline.params.as_deref().or(incoming.params);
            Ok((method, place.run(|| dialect.decode_call(method, params))?))
        })
    };
    let (dialect, call) = match meant.older {
        Some(older) if Box::pin(claims(service, head, &principal, older, incoming)).await => (older, read(older)),
        _ => {
            let call = read(meant.dialect);
            let reader = if call.is_ok() { meant.dialect } else { meant.refusing(&incoming.method) };
            (reader, call.or_else(|_| read(reader)))
        }
    };
    drop(place);
    let (method, call) = match call {
        Ok(call) => call,
        Err(error) => return (dialect, Err(error)),
    };
    let mount = match service.mount_of(service.route(&head.uri, &head.headers), head, call.tenant()) {
        Ok(mount) => mount,
        Err(error) => return (dialect, Err(error)),
    };
    let incoming = Incoming {
        mount,
        principal,
        head,
        dialect: dialect.dialect(),
        binding: binding::JSONRPC,
        extensions: inline.extensions,
    };
    let answer = service.answer(incoming, call).await;
    let named = |error: Error| error.with_fields_named(|field| dialect.field_name(method, field));
    (dialect, answer.map(|answer| (method, answer)).map_err(named))
}

/// Whether a call that is valid in a newer version, too, belongs to this older version.
async fn claims(
    service: &Service,
    head: &Parts,
    principal: &Principal,
    older: &'static dyn JsonRpcDialect,
    incoming: &jsonrpc::Incoming<'_>,
) -> bool {
    let Some(method) = older.method(&incoming.method) else { return false };
    // A leniency that is noted here is noted again when the call is read.
    let (call, _) = leniency::noting(|| older.decode_call(method, incoming.params));
    let Ok(call) = call else { return false };
    let route = service.route(&head.uri, &head.headers);
    let Ok(mount) = service.mount_of(route, head, call.tenant()) else { return false };
    older.dialect().claims(&call, &scope(principal.clone(), &call), &mount.backend).await
}

async fn respond(
    service: &Service,
    dialect: &'static dyn JsonRpcDialect,
    id: &jsonrpc::Id,
    method: nuncio_model::Method,
    answer: Answer,
) -> Result<Response<Body>, Error> {
    let mut response = match answer.outcome {
        Outcome::Events(events, permit) => {
            service.stream(method, events, permit, Envelope::JsonRpc(dialect, id.clone()))?
        }
        Outcome::Reply(reply) => {
            let body = write(service, &answer.principal, dialect, id, method, reply).await;
            json(StatusCode::OK, body.inspect_err(|error| log_unwritten(error, method))?)
        }
    };
    head::echo_extensions(dialect.dialect(), &answer.extensions, response.headers_mut());
    Ok(response)
}

/// The response with a reply.
async fn write(
    service: &Service,
    principal: &Principal,
    dialect: &'static dyn JsonRpcDialect,
    id: &jsonrpc::Id,
    method: nuncio_model::Method,
    reply: Reply,
) -> Result<Body, Error> {
    let version = dialect.dialect().version();
    let encoding = Encoding { binding: Binding::JsonRpc, version, slot: dialect.slot(), method };
    let bare = |reply: &Reply, to: &mut Vec<u8>| dialect.encode_reply(method, reply, to);
    let whole = |reply: &Reply, to: &mut Vec<u8>| jsonrpc::write_result(id, to, |to| bare(reply, to));
    Ok(match service.write(principal, reply, encoding, whole, bare).await? {
        Written::Small(body) => Body::full(service.full(principal, body, method).await?),
        Written::Large(bytes) => {
            let (mut begin, mut at) = (Vec::new(), 0);
            let Ok(()) = jsonrpc::write_result(id, &mut begin, |to| {
                at = to.len();
                Ok::<_, std::convert::Infallible>(())
            });
            let end = begin.split_off(at);
            Body::pieces([begin.into(), bytes, end.into()])
        }
    })
}

/// The response for an error of a call. The status is 200, except for errors of credentials and permissions.
fn respond_error(service: &Service, dialect: &dyn JsonRpcDialect, id: &jsonrpc::Id, error: &Error) -> Response<Body> {
    let mut body = Vec::with_capacity(512);
    jsonrpc::write_error(dialect, id, error, &mut body);
    let mut response = json(status_of(error), Body::full(body));
    service.complete_refusal(error, response.headers_mut());
    response
}

fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    }
}

/// Refuses a request that cannot be a call, by its head.
fn refuse_head(error_dialect: impl FnOnce() -> &'static dyn JsonRpcDialect, head: &Parts) -> Option<Response<Body>> {
    if head.method == Method::OPTIONS {
        return Some(with_allow(empty(StatusCode::NO_CONTENT)));
    }
    if head.method != Method::POST {
        let error = Error::new(ErrorKind::InvalidRequest, "this path takes POST");
        return Some(with_allow(refuse_with(error_dialect(), StatusCode::METHOD_NOT_ALLOWED, &error)));
    }
    let error = match head::content_type(&head.headers) {
        Some(content_type) if is_json(content_type) => head::refuse_encoding(&head.headers).err()?,
        other => not_json("application/json", other),
    };
    Some(refuse_with(error_dialect(), StatusCode::UNSUPPORTED_MEDIA_TYPE, &error))
}

/// The response for an error before the call is known.
pub(super) fn refuse(error_dialect: &dyn JsonRpcDialect, error: &Error) -> Response<Body> {
    let status = StatusCode::from_u16(status::row(error.kind()).http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    refuse_with(error_dialect, status, error)
}

fn refuse_with(error_dialect: &dyn JsonRpcDialect, status: StatusCode, error: &Error) -> Response<Body> {
    let mut body = Vec::with_capacity(512);
    jsonrpc::write_error(error_dialect, &jsonrpc::Id::NULL, error, &mut body);
    json(status, Body::full(body))
}

fn json(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    response
}

fn with_allow(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, OPTIONS"));
    response
}
