//! One span for each request, at debug level. A disabled span costs one comparison. Headers and query can contain
//! secrets, so the span has neither.

use std::task::{Context, Poll};

use http::Request;
use tower::{Layer, Service as TowerService};
use tracing::{Instrument as _, instrument::Instrumented};

#[derive(Clone)]
pub(super) struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}

#[derive(Clone)]
pub(crate) struct Trace<S> {
    inner: S,
}

impl<S: TowerService<Request<B>>, B> TowerService<Request<B>> for Trace<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let span = tracing::debug_span!(
            "request",
            http.request.method = %request.method(),
            url.path = request.uri().path(),
            network.protocol.version = ?request.version(),
        );
        let _entered = span.enter();
        self.inner.call(request).instrument(span.clone())
    }
}
