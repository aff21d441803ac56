//! Answers a request if the code of the server panics. The engine catches a panic of an agent and fails the task.

use std::{
    any::Any,
    convert::Infallible,
    future::{Future, Ready, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{
    FutureExt as _,
    future::{CatchUnwind, Either},
};
use http::{Request, Response};
use nuncio_model::Error;
use tower::{Layer, Service as TowerService};

use super::LayerResult;
use crate::{
    binding::ErrorFormat,
    body::{Body, RequestBody},
    service::{Service, log},
};

#[derive(Clone)]
pub(super) struct CatchPanicLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for CatchPanicLayer {
    type Service = CatchPanic<S>;

    fn layer(&self, inner: S) -> CatchPanic<S> {
        CatchPanic { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct CatchPanic<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Request<RequestBody>> for CatchPanic<S>
where
    S: TowerService<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = CatchPanicFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let format = ErrorFormat::of(&self.service, request.uri(), request.headers());
        // Some layers do all their work in `call`.
        let inner = match catch_unwind(AssertUnwindSafe(|| self.inner.call(request))) {
            Ok(future) => Either::Left(AssertUnwindSafe(future).catch_unwind()),
            Err(panic) => Either::Right(ready(Err(panic))),
        };
        CatchPanicFuture { inner, format }
    }
}

pin_project_lite::pin_project! {
    pub(crate) struct CatchPanicFuture<F> {
        #[pin]
        inner: Either<CatchUnwind<AssertUnwindSafe<F>>, Ready<Result<LayerResult, Box<dyn Any + Send>>>>,
        format: ErrorFormat,
    }
}

impl<F: Future<Output = LayerResult>> Future for CatchPanicFuture<F> {
    type Output = LayerResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.inner.poll(cx).map(|outcome| {
            outcome.unwrap_or_else(|panic| {
                let error = Error::internal(format!("a request panicked: {}", message(&*panic)));
                log(&error, "?");
                Ok(this.format.refuse(&error))
            })
        })
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
