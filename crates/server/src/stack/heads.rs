//! Refuses heads that are too large, and heads that an HTTP server must refuse for every path (RFC 9112, section 3.2).

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{
    HeaderValue, Request, Response,
    header::{CONNECTION, TRANSFER_ENCODING},
};
use tower::{Layer, Service as TowerService};

use crate::{
    binding::ErrorFormat,
    body::{Body, RequestBody},
    head,
    service::Service,
};

#[derive(Clone)]
pub(super) struct HeadsLayer(pub(super) Arc<Service>);

impl<S> Layer<S> for HeadsLayer {
    type Service = Heads<S>;

    fn layer(&self, inner: S) -> Heads<S> {
        Heads { inner, service: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Heads<S> {
    inner: S,
    service: Arc<Service>,
}

impl<S> TowerService<Request<RequestBody>> for Heads<S>
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
        let size = head::check_size(self.service.head_limit, &request);
        let checked = size
            .and_then(|()| head::check_host(request.version(), request.headers()))
            .and_then(|()| head::check_coding(request.headers()));
        match checked {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(error) => {
                let mut refusal = ErrorFormat::of(&self.service, request.uri(), request.headers()).refuse(&error);
                if request.headers().contains_key(TRANSFER_ENCODING) {
                    // The start of the next request is not certain.
                    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Either::Right(ready(Ok(refusal)))
            }
        }
    }
}
