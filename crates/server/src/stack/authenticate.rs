//! Asks who calls, by the head of the request (section 7.4; ERR-3, ERR-4).

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

use futures_util::future::Either;
use http::{Request, Response, request::Parts};
use nuncio_auth::{AuthError, Authenticator};
use nuncio_model::{Error, Principal};
use tower::{Layer, Service as TowerService};

use crate::{
    binding::{Authenticated, Words},
    body::{Body, RequestBody},
    service::Service,
};

/// From where a request came, for the log; in the request's extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

#[derive(Clone)]
pub(super) struct AuthenticateLayer(Arc<Door>);

struct Door {
    service: Arc<Service>,
    authenticator: Arc<dyn Authenticator>,
    is_open: bool,
    refused: Refused,
}

impl AuthenticateLayer {
    pub(super) fn new(service: Arc<Service>, authenticator: Arc<dyn Authenticator>) -> Self {
        let is_open = authenticator.is_open();
        Self(Arc::new(Door { service, authenticator, is_open, refused: Refused::default() }))
    }
}

impl<S> Layer<S> for AuthenticateLayer {
    type Service = Authenticate<S>;

    fn layer(&self, inner: S) -> Authenticate<S> {
        Authenticate { inner, door: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(crate) struct Authenticate<S> {
    inner: S,
    door: Arc<Door>,
}

type Outcome = Result<Response<Body>, Infallible>;
type Boxed = Pin<Box<dyn Future<Output = Outcome> + Send>>;

impl<S> TowerService<Request<RequestBody>> for Authenticate<S>
where
    S: TowerService<Authenticated, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Boxed>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        if self.door.is_open {
            return Either::Left(self.inner.call(Authenticated { principal: Principal::Open, request }));
        }
        let door = Arc::clone(&self.door);
        // The clone stays behind: it is this one that was found ready.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Either::Right(Box::pin(async move {
            let (head, body) = request.into_parts();
            match door.authenticator.authenticate(&head).await {
                Ok(principal) => {
                    inner.call(Authenticated { principal, request: Request::from_parts(head, body) }).await
                }
                Err(error) => Ok(door.refuse(&head, error)),
            }
        }))
    }
}

impl Door {
    fn refuse(&self, head: &Parts, error: AuthError) -> Response<Body> {
        let path = self.service.cards.site().path(&head.uri);
        if error.is_challenge()
            && let Some(silent) = self.refused.next()
        {
            let peer = head.extensions.get::<Peer>().map(|peer| tracing::field::display(peer.0));
            tracing::warn!(peer, path, silent, "refused a caller: {error}");
        }
        let error = Error::from(error);
        let mut refusal = Words::of(&self.service, &head.uri, &head.headers).refuse(&error);
        self.service.complete_refusal(&error, refusal.headers_mut());
        refusal
    }
}

/// Refusals, of which a few are logged each second: an attacker must not fill the log.
struct Refused {
    since: Instant,
    /// The second that is counted, in the upper half, and the refusals in it.
    second: AtomicU64,
}

impl Default for Refused {
    fn default() -> Self {
        Self { since: Instant::now(), second: AtomicU64::new(0) }
    }
}

impl Refused {
    const LOGGED: u64 = 5;

    /// Counts one more. If it is to be logged, gives how many of the last counted second were not.
    fn next(&self) -> Option<u64> {
        let now = self.since.elapsed().as_secs() + 1;
        let before = self.second.load(Ordering::Relaxed);
        let (second, count) = (before >> 32, before & 0xffff_ffff);
        if second == now {
            self.second.fetch_add(1, Ordering::Relaxed);
            return (count < Self::LOGGED).then_some(0);
        }
        let is_first =
            self.second.compare_exchange(before, now << 32 | 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_first.then_some(count.saturating_sub(Self::LOGGED))
    }
}
