//! One connection of HTTP/1.1 or HTTP/2, until the connection is closed, idle for too long, or drained.

use std::{
    future::Future,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::{TryFutureExt as _, future::MapOk};
use http::{Request, Response};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};
use tower::Service;

use super::{
    chunks::Chunks,
    shares::Share,
    streams::Streams,
    version::{Version, version},
};
use crate::{
    body::{Body, BoxError, RequestBody},
    drain::Drain,
    limits::Limits,
    stack::Peer,
};

/// The time between the GOAWAY of an idle HTTP/2 connection and its end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The number of bytes beyond the limit of a head that hyper accepts. The server then refuses the head itself: in the
/// error format of the binding, and exactly at the limit. hyper's own check depends on the size of its reads.
const BEYOND_HEAD: usize = 64 * 1024;

/// The settings of all connections.
pub(super) struct Settings {
    http1: http1::Builder,
    head: u32,
    head_time: Duration,
    stall_time: Duration,
    streams_per_connection: u32,
}

impl Settings {
    pub(super) fn new(limits: &Limits) -> Self {
        let head = limits.head.saturating_add(BEYOND_HEAD);
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            .auto_date_header(has_date())
            // The buffers start small, so an idle connection needs little memory.
            .max_buf_size(head);
        Self {
            http1,
            head: u32::try_from(head).unwrap_or(u32::MAX),
            head_time: limits.head_time,
            stall_time: limits.stall_time,
            streams_per_connection: limits.streams_per_connection,
        }
    }

    /// A connection of HTTP/2. Its streams run in `streams`.
    fn http2(&self, streams: Streams) -> http2::Builder<Streams> {
        let mut http2 = http2::Builder::new(streams);
        http2
            .timer(TokioTimer::new())
            .auto_date_header(has_date())
            .adaptive_window(true)
            .max_concurrent_streams(self.streams_per_connection)
            .max_header_list_size(self.head)
            .max_send_buf_size(64 * 1024)
            // A peer that disappears is detected within a minute.
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        http2
    }
}

pub(super) struct Connection {
    pub(super) settings: Arc<Settings>,
    pub(super) drain: Drain,
    pub(super) peer: Option<SocketAddr>,
    /// The place of this connection in the limit of open connections.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// The place of this connection in the limit of its address.
    pub(super) share: Share,
}

impl Connection {
    /// Serves requests until the connection ends.
    pub(super) async fn serve<S>(self, stream: TcpStream, service: S)
    where
        S: Service<Request<RequestBody>, Response = Response<Body>, Error: Into<BoxError>, Future: Send>,
        S: Send + 'static,
        S::Future: 'static,
    {
        let Self { settings, drain, peer, slot: _slot, share: _share } = self;
        let version = tokio::select! {
            biased;
            version = version(&stream) => version,
            // hyper limits the time for a head only after the version is known.
            () = tokio::time::sleep(settings.head_time) => return,
            () = drain.started() => return,
        };
        let requests = Requests { service: Mutex::new(service), peer };
        let outcome = match version {
            Ok(Some(Version::Http1)) => {
                let mut connection = pin!(settings.http1.serve_connection(TokioIo::new(stream), requests));
                // hyper closes an idle connection.
                drive(connection.as_mut(), &drain, std::future::pending(), std::future::pending()).await
            }
            Ok(Some(Version::Http2)) => {
                let streams = Streams::new(settings.stall_time);
                let (idle, gone) = (streams.idle(settings.head_time), streams.idle(FAREWELL));
                let http2 = settings.http2(streams.clone());
                // Boxed, because an HTTP/2 connection is larger and carries many streams.
                let mut connection = Box::pin(http2.serve_connection(TokioIo::new(stream), InChunks(requests)));
                drive(connection.as_mut(), &drain, idle, gone).await
            }
            Ok(None) | Err(_) => return,
        };
        if let Err(error) = outcome {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended with an error");
        }
    }
}

/// Drives a connection until the connection ends, the server drains, or `idle` is ready. In the last two cases the
/// connection shuts down gracefully, and is closed when `gone` is ready.
async fn drive<C: GracefulConnection>(
    mut connection: Pin<&mut C>,
    drain: &Drain,
    idle: impl Future<Output = ()>,
    gone: impl Future<Output = ()>,
) -> Result<(), C::Error> {
    tokio::select! {
        biased;
        outcome = connection.as_mut() => return outcome,
        () = drain.started() => {}
        () = idle => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        biased;
        outcome = connection => outcome,
        () = drain.aborted() => Ok(()),
        () = gone => Ok(()),
    }
}

/// Gives the requests of one connection to its service.
struct Requests<S> {
    /// The lock is always free, and cheaper than a clone of all layers for each request.
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
        // All services here are always ready.
        self.service.lock().unwrap_or_else(PoisonError::into_inner).call(request)
    }
}

/// The same for HTTP/2, with responses in chunks.
struct InChunks<S>(Requests<S>);

impl<S> hyper::service::Service<Request<Incoming>> for InChunks<S>
where
    S: Service<Request<RequestBody>, Response = Response<Body>>,
{
    type Response = Response<Chunks<Body>>;
    type Error = S::Error;
    type Future = MapOk<S::Future, fn(Response<Body>) -> Response<Chunks<Body>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.0.call(request).map_ok(|response| response.map(Chunks::new))
    }
}

/// Whether the clock is valid for the header `Date`: hyper panics at a time before 1970. A server without a clock must
/// not send the header (RFC 9110, section 6.6.1).
fn has_date() -> bool {
    SystemTime::now() >= SystemTime::UNIX_EPOCH
}
