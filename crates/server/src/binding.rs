//! The table of bindings: the binding of a request, and the error format of each binding (sections 9 to 11).

mod grpc;
mod jsonrpc;
mod rest;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, Response, Uri};
use nuncio_model::{Error, Principal};
use nuncio_wire::{
    JsonRpcDialect, RestDialect,
    proto::{self, metadata},
};
pub(crate) use rest::refuse_path;

use crate::{
    body::{Body, RequestBody},
    head,
    service::Service,
};

/// A request that an authenticator accepted.
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    pub(crate) request: Request<RequestBody>,
}

/// Answers each request by its binding.
#[derive(Clone)]
pub(crate) struct Bindings(pub(crate) Arc<Service>);

/// A way to carry calls over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// POST to the root.
    JsonRpc,
    /// Every other path.
    Rest,
    /// Any path, if the media type of the body is gRPC.
    Grpc,
}

impl Binding {
    /// The binding of a request with these headers to this path.
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Self {
        if head::content_type(headers).is_some_and(metadata::is_grpc) {
            Self::Grpc
        } else if path == "/" {
            Self::JsonRpc
        } else {
            Self::Rest
        }
    }

    /// Whether a request is a health check of gRPC.
    pub(crate) fn is_health(path: &str, headers: &HeaderMap) -> bool {
        matches!(path, proto::health::CHECK | proto::health::WATCH) && Self::of(path, headers) == Self::Grpc
    }

    /// Answers a [health check](Self::is_health). No credentials are needed.
    pub(crate) async fn health(service: &Service, request: Request<RequestBody>) -> Response<Body> {
        let (head, body) = request.into_parts();
        grpc::health(service, &head, body).await
    }
}

/// The error format for a request of which the server reads only the head: by the binding and by the version that the
/// head declares.
#[derive(Clone, Copy)]
pub(crate) enum ErrorFormat {
    JsonRpc(&'static dyn JsonRpcDialect),
    Rest(Option<&'static dyn RestDialect>),
    /// All versions of gRPC have the same error format.
    Grpc,
}

impl ErrorFormat {
    /// The error format for a request to this address with these headers.
    pub(crate) fn of(service: &Service, uri: &Uri, headers: &HeaderMap) -> Self {
        let (path, versions) = (service.route(uri, headers).path, &service.versions);
        match Binding::of(path, headers) {
            Binding::JsonRpc => Self::JsonRpc(versions.refusing_method(head::declared(uri, headers).as_deref(), None)),
            Binding::Rest => Self::Rest(versions.refusing_path(head::declared(uri, headers).as_deref(), path)),
            Binding::Grpc => Self::Grpc,
        }
    }

    /// The response for this error.
    pub(crate) fn refuse(self, error: &Error) -> Response<Body> {
        match self {
            Self::JsonRpc(dialect) => jsonrpc::refuse(dialect, error),
            Self::Rest(dialect) => rest::refuse(dialect, error),
            Self::Grpc => grpc::refuse(error),
        }
    }
}

impl tower::Service<Authenticated> for Bindings {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, Authenticated { principal, request }: Authenticated) -> Self::Future {
        let service = Arc::clone(&self.0);
        let (head, body) = request.into_parts();
        // One boxed future for each binding, because a common future would need the sum of their sizes.
        match Binding::of(service.route(&head.uri, &head.headers).path, &head.headers) {
            Binding::JsonRpc => Box::pin(async move { Ok(jsonrpc::answer(&service, principal, &head, body).await) }),
            Binding::Rest => Box::pin(async move { Ok(rest::answer(&service, principal, &head, body).await) }),
            Binding::Grpc => Box::pin(async move { Ok(grpc::answer(&service, principal, &head, body).await) }),
        }
    }
}
