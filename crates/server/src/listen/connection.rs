//! One connection: HTTP/1.1 or HTTP/2 as its first bytes say, until it is closed, idle for too long, or drained.

use std::{
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};
use tower::Service;

use super::version::{Version, version};
use crate::{
    body::{Body, BoxError, RequestBody},
    drain::Drain,
    limits::Limits,
    stack::Peer,
};

/// How connections are driven.
pub(super) struct Settings {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    head_time: Duration,
}

impl Settings {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            // Small buffers are what makes idle connections cheap.
            .max_buf_size(limits.head.max(8 * 1024));
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .adaptive_window(true)
            .max_concurrent_streams(limits.streams_per_connection)
            .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
            .max_send_buf_size(64 * 1024)
            // A peer that is gone without a word is noticed within a minute.
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        Self { http1, http2, head_time: limits.head_time }
    }
}

pub(super) struct Connection {
    pub(super) settings: Arc<Settings>,
    pub(super) drain: Drain,
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
        let Self { settings, drain, peer, slot: _slot } = self;
        let version = tokio::select! {
            biased;
            version = version(&stream) => version,
            // hyper bounds the time for a head once it is asked for one.
            () = tokio::time::sleep(settings.head_time) => return,
            () = drain.started() => return,
        };
        let requests = Requests { service: Mutex::new(service), peer };
        let outcome = match version {
            Ok(Some(Version::Http1)) => {
                let mut connection = pin!(settings.http1.serve_connection(TokioIo::new(stream), requests));
                drive(connection.as_mut(), &drain).await
            }
            Ok(Some(Version::Http2)) => {
                // In a box, because it is larger and carries many streams.
                let mut connection = Box::pin(settings.http2.serve_connection(TokioIo::new(stream), requests));
                drive(connection.as_mut(), &drain).await
            }
            Ok(None) | Err(_) => return,
        };
        if let Err(error) = outcome {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection broke off");
        }
    }
}

/// Drives a connection to its end: its own, or that of the server.
async fn drive<C: GracefulConnection>(mut connection: Pin<&mut C>, drain: &Drain) -> Result<(), C::Error> {
    tokio::select! {
        biased;
        outcome = connection.as_mut() => return outcome,
        () = drain.started() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        biased;
        outcome = connection => outcome,
        () = drain.aborted() => Ok(()),
    }
}

/// Hands the requests of one connection to its service.
struct Requests<S> {
    /// Nobody else ever holds the lock; it is cheaper than a clone of all layers for each request.
    service: Mutex<S>,
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
        let mut request = request.map(|body| RequestBody::Hyper { body });
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(Peer(peer));
        }
        // No service here is ever not ready.
        self.service.lock().unwrap_or_else(PoisonError::into_inner).call(request)
    }
}
