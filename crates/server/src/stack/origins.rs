//! Refuses calls without credentials from pages of another origin. Card and health are answered before this layer: a
//! page learns nothing from these, because the browser hides the response from the page.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::Response;
use tower::{Layer, Service as TowerService};

use crate::{
    binding::{Authenticated, ErrorFormat},
    body::Body,
    service::Service,
};

#[derive(Clone)]
pub(super) struct OriginCheckLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for OriginCheckLayer {
    type Service = OriginCheck<S>;

    fn layer(&self, inner: S) -> OriginCheck<S> {
        OriginCheck { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct OriginCheck<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Authenticated> for OriginCheck<S>
where
    S: TowerService<Authenticated, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response<Body>, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Authenticated) -> Self::Future {
        if call.principal.is_authenticated() {
            return Either::Left(self.inner.call(call));
        }
        let (uri, headers) = (call.request.uri(), call.request.headers());
        let Err(error) = self.service.origins.check(&self.service.base_url, uri, headers) else {
            return Either::Left(self.inner.call(call));
        };
        tracing::debug!(path = uri.path(), "refused a page: {error}");
        Either::Right(ready(Ok(ErrorFormat::of(&self.service, uri, headers).refuse(&error))))
    }
}
