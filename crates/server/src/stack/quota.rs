//! Limits each authenticated caller: a caller at its limit does not affect other callers.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::Response;
use nuncio_limit::Permit;
use nuncio_model::{Error, Principal};
use tower::{Layer, Service as TowerService};

use crate::{
    binding::{Authenticated, ErrorFormat},
    body::Body,
    service::Service,
};

#[derive(Clone)]
pub(super) struct QuotaLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for QuotaLayer {
    type Service = Quota<S>;

    fn layer(&self, inner: S) -> Quota<S> {
        Quota { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Quota<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> Quota<S> {
    /// Counts a request of this caller; `None` if the server does not authenticate callers.
    fn admit(&self, principal: &Principal) -> Result<Option<Permit>, Error> {
        if let Some(rates) = &self.service.rates {
            rates.check(principal)?;
        }
        if *principal == Principal::Open {
            return Ok(None);
        }
        self.service.load.calls.take(principal, 1).map(Some)
    }
}

impl<S> TowerService<Authenticated> for Quota<S>
where
    S: TowerService<Authenticated, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Counted<S::Future>, Ready<Result<Response<Body>, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Authenticated) -> Self::Future {
        match self.admit(&call.principal) {
            Ok(permit) => Either::Left(Counted { inner: self.inner.call(call), permit }),
            Err(error) => {
                let (uri, headers) = (call.request.uri(), call.request.headers());
                let mut refusal = ErrorFormat::of(&self.service, uri, headers).refuse(&error);
                self.service.complete_refusal(&error, refusal.headers_mut());
                Either::Right(ready(Ok(refusal)))
            }
        }
    }
}

pin_project_lite::pin_project! {
    /// A request that counts until its response begins.
    pub(crate) struct Counted<F> {
        #[pin]
        inner: F,
        permit: Option<Permit>,
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}
