//! Refuses requests for hosts that are not configured for this server. Health is answered for every host: health checks
//! name the address of a machine, and the response reveals nothing else.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{Request, Response};
use tower::{Layer, Service as TowerService};

use crate::{
    binding::{Binding, ErrorFormat},
    body::{Body, RequestBody},
    health,
    service::Service,
};

#[derive(Clone)]
pub(super) struct HostCheckLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for HostCheckLayer {
    type Service = HostCheck<S>;

    fn layer(&self, inner: S) -> HostCheck<S> {
        HostCheck { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct HostCheck<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Request<RequestBody>> for HostCheck<S>
where
    S: TowerService<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response<Body>, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let (uri, headers) = (request.uri(), request.headers());
        let Some(Err(error)) = self.service.hosts.as_ref().map(|hosts| hosts.check(uri, headers)) else {
            return Either::Left(self.inner.call(request));
        };
        let path = self.service.base_url.path(uri);
        if matches!(path, health::LIVE | health::READY) || Binding::is_health(path, headers) {
            return Either::Left(self.inner.call(request));
        }
        tracing::debug!(path, "refused a request: {error}");
        Either::Right(ready(Ok(ErrorFormat::of(&self.service, uri, headers).refuse(&error))))
    }
}
