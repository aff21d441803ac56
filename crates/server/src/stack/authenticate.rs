//! Authenticates the caller by the head of the request (section 7.4; section 3.3.2 "Error Handling").

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{Request, Response, request::Parts};
use nuncio_auth::{AuthError, Authenticator};
use nuncio_limit::Sampled;
use nuncio_model::{Error, Principal};
use tower::{Layer, Service as TowerService};

use super::BoxedResult;
use crate::{
    binding::{Authenticated, ErrorFormat},
    body::{Body, RequestBody},
    service::Service,
};

/// The address of the peer, for the log; in the request's extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

#[derive(Clone)]
pub(super) struct AuthenticateLayer(Arc<AuthState>);

struct AuthState {
    service: Arc<Service>,
    authenticator: Arc<dyn Authenticator>,
    is_open: bool,
    refused: Sampled,
}

impl AuthenticateLayer {
    pub(super) fn new(service: Arc<Service>, authenticator: Arc<dyn Authenticator>) -> Self {
        let is_open = authenticator.is_open();
        Self(Arc::new(AuthState { service, authenticator, is_open, refused: Sampled::default() }))
    }
}

impl<S> Layer<S> for AuthenticateLayer {
    type Service = Authenticate<S>;

    fn layer(&self, inner: S) -> Authenticate<S> {
        Authenticate { inner, state: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Authenticate<S> {
    inner: S,
    state: Arc<AuthState>,
}

impl<S> TowerService<Request<RequestBody>> for Authenticate<S>
where
    S: TowerService<Authenticated, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, BoxedResult>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        if self.state.is_open {
            return Either::Left(self.inner.call(Authenticated { principal: Principal::Open, request }));
        }
        let state = Arc::clone(&self.state);
        // The call must use the service that `poll_ready` checked. The clone replaces that service.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Either::Right(Box::pin(async move {
            let (head, body) = request.into_parts();
            let peer = state.service.base_url.peer(&head);
            if let Some(error) = peer.and_then(|peer| state.service.logins.check(peer).err()) {
                return Ok(state.refusal(&head, &error));
            }
            match state.authenticator.authenticate(&head).await {
                Ok(principal) => {
                    inner.call(Authenticated { principal, request: Request::from_parts(head, body) }).await
                }
                Err(error) => Ok(state.refuse(&head, error)),
            }
        }))
    }
}

impl AuthState {
    fn refuse(&self, head: &Parts, error: AuthError) -> Response<Body> {
        let path = self.service.base_url.path(&head.uri);
        if matches!(error, AuthError::Invalid)
            && let Some(peer) = self.service.base_url.peer(head)
        {
            self.service.logins.fail(peer);
        }
        if error.is_challenge()
            && let Some(silent) = self.refused.next()
        {
            let peer = head.extensions.get::<Peer>().map(|peer| tracing::field::display(peer.0));
            tracing::warn!(peer, path, silent, "refused a caller: {error}");
        }
        self.refusal(head, &Error::from(error))
    }

    fn refusal(&self, head: &Parts, error: &Error) -> Response<Body> {
        let mut refusal = ErrorFormat::of(&self.service, &head.uri, &head.headers).refuse(error);
        self.service.complete_refusal(error, refusal.headers_mut());
        refusal
    }
}
