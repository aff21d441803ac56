//! `grpc.health.v1`: whether a load balancer is to send calls here. Open to everybody, like `/readyz`.

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

/// The longest question, in bytes: it has the name of a service.
const QUESTION: usize = 1024;

/// Answers a request to one of the two paths.
pub(in crate::binding) async fn answer(service: &Service, head: &Parts, body: RequestBody) -> Response<Body> {
    if let Some(refusal) = refuse_http(head) {
        return refusal;
    }
    respond(service, head, body).await.unwrap_or_else(|error| refuse(&error))
}

async fn respond(service: &Service, head: &Parts, body: RequestBody) -> Result<Response<Body>, Error> {
    // It is from a stranger, so it is in nobody's way: it does not count among the bytes of those who have a name.
    let body =
        read_body(body, &head.headers, framed(QUESTION, service), &service.load.questions, &Principal::Open).await?;
    let message = message(&body.bytes, QUESTION)?;
    let name = health::decode_request(&message)?;
    let is_known = matches!(&*name, "" | health::SERVICE) || service.versions.have_service(&name);
    if service.base_url.path(&head.uri) == health::WATCH {
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

/// Says how it is, and again when the server begins to end. A service that is not known may yet come, to some servers.
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

/// The code of a service that is not known; the errors of A2A have none for it.
fn not_found() -> Response<Body> {
    let mut response = head_of(Body::Empty);
    response.headers_mut().insert(metadata::STATUS, HeaderValue::from_static("5"));
    response
}
