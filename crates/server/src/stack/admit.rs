//! Limits the number of concurrent requests, and refuses further requests at once (section 13.4, rate limits).

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{Request, Response};
use nuncio_limit::Permit;
use nuncio_model::Principal;
use tower::{Layer, Service as TowerService};

use crate::{
    binding::ErrorFormat,
    body::{Body, RequestBody},
    service::Service,
};

#[derive(Clone)]
pub(super) struct AdmitLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for AdmitLayer {
    type Service = Admit<S>;

    fn layer(&self, inner: S) -> Admit<S> {
        Admit { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Admit<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Request<RequestBody>> for Admit<S>
where
    S: TowerService<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Admitted<S::Future>, Ready<Result<Response<Body>, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let error = match self.service.load.requests.take(&Principal::Open, 1) {
            Ok(permit) => return Either::Left(Admitted { inner: self.inner.call(request), permit }),
            Err(error) => error,
        };
        let mut refusal = ErrorFormat::of(&self.service, request.uri(), request.headers()).refuse(&error);
        self.service.complete_refusal(&error, refusal.headers_mut());
        Either::Right(ready(Ok(refusal)))
    }
}

pin_project_lite::pin_project! {
    /// A request that counts until its response begins.
    pub(crate) struct Admitted<F> {
        #[pin]
        inner: F,
        permit: Permit,
    }
}

impl<F: Future> Future for Admitted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}
