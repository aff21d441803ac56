//! HTTP with JSON bodies (section 11): every path without another route.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header, request::Parts};
use nuncio_model::{Error, ErrorKind, Principal, Reply, Tenant, card::binding};
use nuncio_wire::{
    RestDialect, Version, dialect,
    rest::{self, RouteError, Routed},
};

use super::Binding;
use crate::{
    answers::Encoding,
    body::{Body, RequestBody},
    head,
    mount::{Mounted, Route},
    service::{Answer, Incoming, Outcome, Service, Written, log_unwritten},
    sse::Envelope,
    tenants,
};

/// Answers a request to any path but the root.
pub(super) async fn answer(service: &Service, principal: Principal, head: &Parts, body: RequestBody) -> Response<Body> {
    let found = service.route(&head.uri, &head.headers);
    let Route { mount, path } = found;
    // HEAD is GET without the body; a stream cannot be read by HEAD.
    let verb = if head.method == Method::HEAD { &Method::GET } else { &head.method };
    let version = head::version(head);
    let error_dialect = || service.versions.refusing_path(version.as_deref(), path);
    let Some(mount) = mount else { return refuse_route(error_dialect(), head, &RouteError::NotFound) };
    let route = || service.versions.for_path(version.as_deref(), verb, path);
    let (dialect, routed) = match service.clients.reading(head, &principal, route) {
        Ok((_, routed)) if head.method == Method::HEAD && routed.method.is_streaming() => {
            return refuse_route(error_dialect(), head, &RouteError::method_not_allowed("GET, POST"));
        }
        Ok((dialect, routed)) => {
            (service.versions.rest_for_client(dialect, || head::user_agent(&head.headers)), routed)
        }
        Err(RouteError::MethodNotAllowed { tenant: Some(tenant), .. })
            if !of_tenant(service, found, head, mount, Some(&tenant)).has_tenant(&tenant) =>
        {
            return match error_dialect().or_else(default) {
                Some(dialect) => refuse_tenant(dialect, head, &tenant),
                None => Response::new(Body::Empty),
            };
        }
        Err(refusal) => return refuse_route(error_dialect(), head, &refusal),
    };
    let mount = of_tenant(service, found, head, mount, routed.tenant.as_ref());
    if let Some(tenant) = routed.tenant.as_ref().filter(|tenant| !mount.has_tenant(tenant)) {
        return refuse_tenant(dialect, head, tenant);
    }
    let outcome = match service.read(body, head, service.body_limits, &principal).await {
        Ok(body) => match rest::check_media_type(dialect, head::content_type(&head.headers), &body.bytes) {
            Ok(()) => match call(service, found, principal, head, &body.bytes, dialect, &routed).await {
                Ok((mount, answer)) => respond(service, mount, head, dialect, routed.method, answer).await,
                Err(error) => Err(error),
            },
            Err(error) => {
                let (status, body) = rest::write_error_as(dialect, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
                Ok(json(dialect, status, body))
            }
        },
        Err(error) => Err(error),
    };
    let mut response = outcome.unwrap_or_else(|error| respond_error(service, dialect, &error));
    if head.method == Method::HEAD {
        *response.body_mut() = Body::Empty;
    }
    response
}

/// The agent that a tenant names, or else the agent at the path.
fn of_tenant<'a>(
    service: &'a Service,
    found: Route<'a>,
    head: &Parts,
    mount: &'a Mounted,
    tenant: Option<&Tenant>,
) -> &'a Mounted {
    service.mount_of(found, head, tenant).unwrap_or(mount)
}

async fn call<'a>(
    service: &'a Service,
    found: Route<'a>,
    principal: Principal,
    head: &Parts,
    body: &[u8],
    dialect: &'static dyn RestDialect,
    routed: &Routed,
) -> Result<(&'a Mounted, Answer), Error> {
    let place = service.answers.offload.place(body.len()).await;
    let read = || dialect.decode_call(routed, head.uri.query(), body);
    let call = service.clients.reading(head, &principal, || place.run(read))?;
    drop(place);
    let mount = service.mount_of(found, head, call.tenant())?;
    let falls_back = routed.method == nuncio_model::Method::GetExtendedAgentCard && dialect.falls_back_to_public_card();
    let asker = falls_back.then(|| principal.clone());
    let incoming = Incoming {
        mount,
        principal,
        head,
        dialect: dialect.dialect(),
        binding: binding::HTTP_JSON,
        extensions: Vec::new(),
    };
    let answer = service.answer(incoming, call).await;
    let answer = Service::or_public_card(mount, answer, asker, head);
    let answer = answer.map_err(|error| error.with_fields_named(|field| dialect.field_name(routed.method, field)))?;
    Ok((mount, answer))
}

async fn respond(
    service: &Service,
    mount: &Mounted,
    head: &Parts,
    dialect: &'static dyn RestDialect,
    method: nuncio_model::Method,
    answer: Answer,
) -> Result<Response<Body>, Error> {
    let mut response = match answer.outcome {
        Outcome::Events(events, permit) => service.stream(method, events, permit, Envelope::Bare(dialect))?,
        Outcome::Reply(reply) => {
            let body = write(service, &answer.principal, dialect, method, reply).await;
            let body = body.inspect_err(|error| log_unwritten(error, method))?;
            if method == nuncio_model::Method::GetExtendedAgentCard {
                mount.cards.extended(body, HeaderValue::from_static(dialect.content_type()), &head.headers)
            } else {
                json(dialect, StatusCode::OK, body)
            }
        }
    };
    head::echo_extensions(dialect.dialect(), &answer.extensions, response.headers_mut());
    Ok(response)
}

/// The body with a reply.
async fn write(
    service: &Service,
    principal: &Principal,
    dialect: &'static dyn RestDialect,
    method: nuncio_model::Method,
    reply: Reply,
) -> Result<Bytes, Error> {
    let version = dialect.dialect().version();
    let encoding = Encoding { binding: Binding::Rest, version, slot: dialect.slot(), method };
    let bare = |reply: &Reply, to: &mut Vec<u8>| dialect.encode_reply(method, reply, to);
    match service.write(principal, reply, encoding, bare, bare).await? {
        Written::Small(body) => service.full(principal, body, method).await,
        Written::Large(bytes) => Ok(bytes),
    }
}

fn respond_error(service: &Service, dialect: &dyn RestDialect, error: &Error) -> Response<Body> {
    let (status, body) = rest::write_error(dialect, error);
    let mut response = json(dialect, status, body);
    service.complete_refusal(error, response.headers_mut());
    response
}

/// Refuses a path that begins with an unknown tenant.
fn refuse_tenant(dialect: &'static dyn RestDialect, head: &Parts, tenant: &Tenant) -> Response<Body> {
    let shown: String = tenant.as_str().chars().filter(|it| !it.is_control()).take(100).collect();
    let message = format!("there is nothing at this path: `{shown}` {}", tenants::UNKNOWN);
    let error = Error::new(ErrorKind::MethodNotFound, message);
    let (status, body) = rest::write_error_as(dialect, StatusCode::NOT_FOUND, &error);
    let mut response = json(dialect, status, body);
    if head.method == Method::HEAD {
        *response.body_mut() = Body::Empty;
    }
    response
}

/// Refuses a request without an operation.
fn refuse_route(error_dialect: Option<&'static dyn RestDialect>, head: &Parts, refusal: &RouteError) -> Response<Body> {
    let mut response = match refusal {
        RouteError::MethodNotAllowed { .. } if head.method == Method::OPTIONS => {
            let mut response = Response::new(Body::Empty);
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        refusal => refuse_path(error_dialect, refusal),
    };
    if let Some(allow) = refusal.allow() {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    response
}

/// The response for an unknown path or verb.
pub(crate) fn refuse_path(error_dialect: Option<&'static dyn RestDialect>, refusal: &RouteError) -> Response<Body> {
    let Some(dialect) = error_dialect.or_else(default) else { return Response::new(Body::Empty) };
    let (status, body) = rest::write_refusal(dialect, refusal);
    json(dialect, status, body)
}

/// The response for an error before the call is known.
pub(super) fn refuse(error_dialect: Option<&'static dyn RestDialect>, error: &Error) -> Response<Body> {
    let Some(dialect) = error_dialect.or_else(default) else { return Response::new(Body::Empty) };
    let (status, body) = rest::write_error(dialect, error);
    json(dialect, status, body)
}

/// The dialect for errors if the server speaks no version over HTTP+JSON.
fn default() -> Option<&'static dyn RestDialect> {
    dialect(Version::LATEST).rest()
}

fn json(dialect: &dyn RestDialect, status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(dialect.content_type()));
    response
}
