//! The bindings as a table: which of them a request belongs to, and how each says no (sections 9 to 11).

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

/// A request that an authenticator let in.
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    pub(crate) request: Request<RequestBody>,
}

/// Answers requests, each by its binding.
#[derive(Clone)]
pub(crate) struct Bindings(pub(crate) Arc<Service>);

/// A way to carry calls over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// POST to the root.
    JsonRpc,
    /// Every other path.
    Rest,
    /// Any path, by the type of the body.
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

    /// Whether a request asks after the server's health in the way that gRPC has for it.
    pub(crate) fn is_health(path: &str, headers: &HeaderMap) -> bool {
        matches!(path, proto::health::CHECK | proto::health::WATCH) && Self::of(path, headers) == Self::Grpc
    }

    /// Answers a request that [asks after health](Self::is_health); everybody may.
    pub(crate) async fn health(service: &Service, request: Request<RequestBody>) -> Response<Body> {
        let (head, body) = request.into_parts();
        grpc::health(service, &head, body).await
    }
}

/// In which words a request is refused that is not read any further than its head: those of its binding, and of the
/// version that it seems to be of.
#[derive(Clone, Copy)]
pub(crate) enum ErrorFormat {
    JsonRpc(&'static dyn JsonRpcDialect),
    Rest(Option<&'static dyn RestDialect>),
    /// Of which gRPC knows one answer, whatever the version.
    Grpc,
}

impl ErrorFormat {
    /// Those for a request to this address with these headers.
    pub(crate) fn of(service: &Service, uri: &Uri, headers: &HeaderMap) -> Self {
        let (path, versions) = (service.route(uri, headers).path, &service.versions);
        match Binding::of(path, headers) {
            Binding::JsonRpc => Self::JsonRpc(versions.refusing_method(head::declared(uri, headers).as_deref(), None)),
            Binding::Rest => Self::Rest(versions.refusing_path(head::declared(uri, headers).as_deref(), path)),
            Binding::Grpc => Self::Grpc,
        }
    }

    /// Says no.
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
        // A future for each, because one of them all would be as large as all of them.
        match Binding::of(service.route(&head.uri, &head.headers).path, &head.headers) {
            Binding::JsonRpc => Box::pin(async move { Ok(jsonrpc::answer(&service, principal, &head, body).await) }),
            Binding::Rest => Box::pin(async move { Ok(rest::answer(&service, principal, &head, body).await) }),
            Binding::Grpc => Box::pin(async move { Ok(grpc::answer(&service, principal, &head, body).await) }),
        }
    }
}
