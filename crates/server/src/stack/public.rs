//! The public routes: the card (section 8.2), a page about the agent, and health.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use nuncio_wire::rest::RouteError;
use tower::{Layer, Service as TowerService};

use super::{BoxedResult, LayerResult};
use crate::{
    binding::{Binding, refuse_path},
    body::{Body, RequestBody},
    card, health, landing,
    mount::Route,
    service::Service,
};

#[derive(Clone)]
pub(super) struct PublicLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for PublicLayer {
    type Service = Public<S>;

    fn layer(&self, inner: S) -> Public<S> {
        Public { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Public<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Request<RequestBody>> for Public<S>
where
    S: TowerService<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Either<Ready<LayerResult>, BoxedResult>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let service = &self.service;
        let path = service.route(request.uri(), request.headers()).path;
        if Binding::is_health(path, request.headers()) {
            let service = Arc::clone(service);
            return Either::Right(Either::Right(Box::pin(async move { Ok(Binding::health(&service, request).await) })));
        }
        let (is_get, is_head) =
            (matches!(*request.method(), Method::GET | Method::HEAD), request.method() == Method::HEAD);
        let is_page = path == "/" && is_get && Binding::of(path, request.headers()) == Binding::JsonRpc;
        if !is_page && !matches!(path, card::PATH | card::LEGACY_PATH | health::LIVE | health::READY) {
            return Either::Left(self.inner.call(request));
        }
        Either::Right(match path {
            _ if !is_get => Either::Left(ready(Ok(refuse_verb(service, request.method())))),
            health::LIVE => Either::Left(ready(Ok(without_body(is_head, health::alive())))),
            health::READY => {
                let service = Arc::clone(service);
                Either::Right(Box::pin(async move { Ok(without_body(is_head, health::readiness(&service).await)) }))
            }
            _ => {
                let (head, _body) = request.into_parts();
                Either::Left(ready(Ok(without_body(is_head, describe(service, &head)))))
            }
        })
    }
}

/// The card of the agent at the path, or a page about the agent.
fn describe(service: &Service, head: &Parts) -> Response<Body> {
    let Route { mount, path } = service.route(&head.uri, &head.headers);
    let response = mount.and_then(|mount| match path {
        "/" => Some(landing::answer(&mount.cards, head)),
        path => mount.cards.respond(path, head),
    });
    response.unwrap_or_else(|| refuse(service, &RouteError::NotFound))
}

/// A client of HTTP/2 takes a body in the response to HEAD for a broken stream.
fn without_body(is_head: bool, mut response: Response<Body>) -> Response<Body> {
    if is_head {
        *response.body_mut() = Body::Empty;
    }
    response
}

/// Public routes belong to no version.
fn refuse(service: &Service, refusal: &RouteError) -> Response<Body> {
    refuse_path(service.versions.refusing_path(None, ""), refusal)
}

fn refuse_verb(service: &Service, verb: &Method) -> Response<Body> {
    const ALLOW: &str = "GET, HEAD, OPTIONS";
    let mut response = refuse(service, &RouteError::method_not_allowed(ALLOW));
    if verb == Method::OPTIONS {
        response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(ALLOW));
    response
}
