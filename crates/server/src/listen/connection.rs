//! One connection: HTTP/1.1 or HTTP/2 as its first bytes say, until it is closed, idle for too long, or drained.

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};
use tower::Service;

use crate::{
    body::{Body, BoxError, RequestBody},
    drain::Drain,
    stack::Peer,
};

pub(super) struct Connection {
    pub(super) http: Arc<auto::Builder<TokioExecutor>>,
    pub(super) drain: Drain,
    pub(super) head_time: Duration,
    pub(super) peer: Option<SocketAddr>,
    /// Its place among the connections that may be open.
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Serves requests until there are no more.
    pub(super) async fn serve<S>(self, stream: TcpStream, service: S)
    where
        S: Service<Request<RequestBody>, Response = Response<Body>, Error: Into<BoxError>, Future: Send>,
        S: Send + 'static,
        S::Future: 'static,
    {
        let Self { http, drain, head_time, peer, slot: _slot } = self;
        let has_spoken = Arc::new(AtomicBool::new(false));
        let service = Mutex::new(service);
        let requests = Requests { service, has_spoken: Arc::clone(&has_spoken), peer };
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), requests));
        let mut drained = pin!(drain.started());
        // hyper bounds the time for a head only once it knows the version of HTTP.
        let first_head = async {
            tokio::time::sleep(head_time).await;
            if has_spoken.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = &mut connection => outcome,
            () = first_head => return,
            () = &mut drained => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    biased;
                    outcome = connection => outcome,
                    () = drain.aborted() => return,
                }
            }
        };
        if let Err(error) = outcome {
            tracing::debug!(error = &*error, "a connection broke off");
        }
    }
}

/// Hands the requests of one connection to its service.
struct Requests<S> {
    /// Nobody else ever holds the lock; it is cheaper than a clone of all layers for each request.
    service: Mutex<S>,
    has_spoken: Arc<AtomicBool>,
    peer: Option<SocketAddr>,
}

impl<S> hyper::service::Service<Request<Incoming>> for Requests<S>
where
    S: Service<Request<RequestBody>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: Request<Incoming>) -> S::Future {
        self.has_spoken.store(true, Ordering::Relaxed);
        let mut request = request.map(|body| RequestBody::Hyper { body });
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(Peer(peer));
        }
        // No service here is ever not ready.
        self.service.lock().unwrap_or_else(PoisonError::into_inner).call(request)
    }
}
