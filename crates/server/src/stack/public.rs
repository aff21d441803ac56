//! What everybody may see: the card (section 8.2), a page about the agent, and whether the server lives.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use nuncio_wire::rest::RouteError;
use tower::{Layer, Service as TowerService};

use crate::{
    binding::{Binding, refuse_path},
    body::{Body, RequestBody},
    card, health, landing,
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

type Outcome = Result<Response<Body>, Infallible>;
type Boxed = Pin<Box<dyn Future<Output = Outcome> + Send>>;

impl<S> TowerService<Request<RequestBody>> for Public<S>
where
    S: TowerService<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Either<Ready<Outcome>, Boxed>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let path = self.service.cards.site().path(request.uri());
        if Binding::is_health(path, request.headers()) {
            let service = Arc::clone(&self.service);
            return Either::Right(Either::Right(Box::pin(async move { Ok(Binding::health(&service, request).await) })));
        }
        let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
        if path == "/" && is_get && Binding::of(path, request.headers()) == Binding::JsonRpc {
            let is_head = request.method() == Method::HEAD;
            let (head, _body) = request.into_parts();
            let page = without_body(is_head, landing::answer(&self.service, &head));
            return Either::Right(Either::Left(ready(Ok(page))));
        }
        if !matches!(path, card::PATH | card::LEGACY_PATH | health::LIVE | health::READY) {
            return Either::Left(self.inner.call(request));
        }
        if !is_get {
            return Either::Right(Either::Left(ready(Ok(refuse_verb(&self.service, request.method())))));
        }
        let is_head = request.method() == Method::HEAD;
        Either::Right(match path {
            health::LIVE => Either::Left(ready(Ok(without_body(is_head, health::alive())))),
            health::READY => {
                let service = Arc::clone(&self.service);
                Either::Right(Box::pin(async move { Ok(without_body(is_head, health::readiness(&service).await)) }))
            }
            _ => {
                let (head, _body) = request.into_parts();
                let cards = &self.service.cards;
                let response = cards.respond(cards.site().path(&head.uri), &head);
                let response = response.unwrap_or_else(|| refuse(&self.service, &RouteError::NotFound));
                Either::Left(ready(Ok(without_body(is_head, response))))
            }
        })
    }
}

/// HTTP/2 takes a body behind the answer to HEAD for a broken stream.
fn without_body(is_head: bool, mut response: Response<Body>) -> Response<Body> {
    if is_head {
        *response.body_mut() = Body::Empty;
    }
    response
}

/// What is for everybody is of no version.
fn refuse(service: &Service, refusal: &RouteError) -> Response<Body> {
    refuse_path(service.versions.refusing_path(None, ""), refusal)
}

fn refuse_verb(service: &Service, verb: &Method) -> Response<Body> {
    const ALLOW: &str = "GET, HEAD, OPTIONS";
    let mut response = refuse(service, &RouteError::MethodNotAllowed { allow: ALLOW });
    if verb == Method::OPTIONS {
        response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(ALLOW));
    response
}
