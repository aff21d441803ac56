//! `grpc.health.v1`: tells a load balancer whether to send calls to this server. Public, like `/readyz`.

use bytes::Bytes;
use futures_util::{StreamExt as _, future::ready, stream};
use http::{HeaderValue, Response, request::Parts};
use http_body::Frame;
use http_body_util::{StreamBody, combinators::UnsyncBoxBody};
use nuncio_model::{Error, Principal};
use nuncio_wire::proto::{
    frame,
    health::{self, Health},
    metadata,
};

use super::{body::success, framed, head_of, message, refuse, refuse_http, single};
use crate::{
    body::{Body, BoxError, RequestBody},
    health::check,
    read::read_body,
    service::Service,
};

/// The largest request in bytes. A request has the name of a service.
const MAX_REQUEST: usize = 1024;

/// Answers a request to one of the two paths.
pub(in crate::binding) async fn answer(service: &Service, head: &Parts, body: RequestBody) -> Response<Body> {
    if let Some(refusal) = refuse_http(head) {
        return refusal;
    }
    respond(service, head, body).await.unwrap_or_else(|error| refuse(&error))
}

async fn respond(service: &Service, head: &Parts, body: RequestBody) -> Result<Response<Body>, Error> {
    // The caller is not authenticated, so the body does not count in the limit of callers' bodies.
    let body =
        read_body(body, &head.headers, framed(MAX_REQUEST, service), &service.load.health_checks, &Principal::Open)
            .await?;
    let message = message(&body.bytes, MAX_REQUEST)?;
    let name = health::decode_request(&message)?;
    let is_known = matches!(&*name, "" | health::SERVICE) || service.versions.have_service(&name);
    if service.route(&head.uri, &head.headers).path == health::WATCH {
        return watch(service, is_known);
    }
    if !is_known {
        return Ok(not_found());
    }
    let health = if check(service).await.is_ok() { Health::Serving } else { Health::NotServing };
    let body = single(|to| {
        health::encode_response(health, to);
        Ok(())
    });
    body.map(head_of)
}

/// Sends the current health, and the health again when the server starts its shutdown. An unknown service is not an
/// error, because some servers may add the service later.
fn watch(service: &Service, is_known: bool) -> Result<Response<Body>, Error> {
    let now = match is_known {
        true if service.drain.has_started() => Health::NotServing,
        true => Health::Serving,
        false => Health::ServiceUnknown,
    };
    let permit = service.load.watchers.take(&Principal::Open, 1)?;
    let drain = service.drain.clone();
    let (started, ended) = (drain.started(), drain.streams_end());
    let change = (now == Health::Serving).then_some(async move {
        started.await;
        Health::NotServing
    });
    let messages = stream::once(ready(now)).chain(stream::iter(change).then(|change| change)).map(data);
    let end = stream::once(async move {
        ended.await;
        drop(permit);
        Ok(Frame::trailers(success()))
    });
    Ok(head_of(Body::Boxed(UnsyncBoxBody::new(StreamBody::new(messages.chain(end))))))
}

fn data(health: Health) -> Result<Frame<Bytes>, BoxError> {
    let mut message = Vec::new();
    frame::write(&mut message, usize::MAX, |to| {
        health::encode_response(health, to);
        Ok(())
    })?;
    Ok(Frame::data(message.into()))
}

/// The status code for an unknown service. A2A has no error for this.
fn not_found() -> Response<Body> {
    let mut response = head_of(Body::Empty);
    response.headers_mut().insert(metadata::STATUS, HeaderValue::from_static("5"));
    response
}
