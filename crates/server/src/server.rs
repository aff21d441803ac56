//! A server that listens, from its first connection to its last.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::join_all;
use http::{Request, Response};
use nuncio_model::{Backend, Background};
use tokio::{net::TcpListener, task::JoinSet, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::{Layer as _, ServiceExt as _, util::MapRequestLayer};

use crate::{
    body::{Body, RequestBody},
    builder::Builder,
    limits::Limits,
    listen::Connections,
    mount::Mount,
    service::Service,
    stack::Stack,
};

/// The time for connections to close after their last request.
const CLOSING: Duration = Duration::from_secs(2);

/// The interval between two checks for the end of requests and turns.
const LOOK: Duration = Duration::from_millis(10);

/// An agent on a port: JSON-RPC, HTTP+JSON, gRPC, its card and its health, over HTTP/1.1 and HTTP/2.
///
/// A drop before [`serve`](Self::serve) closes the port.
pub struct Server {
    pub(crate) listener: TcpListener,
    pub(crate) local: SocketAddr,
    pub(crate) service: Arc<Service>,
    pub(crate) stack: Stack,
    pub(crate) routes: Option<axum::Router>,
    pub(crate) background: Vec<Box<dyn Background>>,
    pub(crate) limits: Limits,
    pub(crate) tells_peer: bool,
}

impl Server {
    /// A server for one agent, at the root. The server shuts the agent down when the server ends.
    pub fn builder(backend: impl Backend) -> Builder {
        Self::hosting([Mount::root(backend)])
    }

    /// A server for several agents, each at its place.
    pub fn hosting(mounts: impl IntoIterator<Item = Mount>) -> Builder {
        Builder::new(mounts.into_iter().collect())
    }

    /// The address on which the server listens, with the actual port.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// All routes of the server as a router, for another HTTP server. That server is then responsible for the other
    /// work of [`serve`](Self::serve). Requests for foreign hosts are refused; see [`Builder::allowed_hosts`].
    pub fn router(&self) -> axum::Router {
        let stack =
            MapRequestLayer::new(|request: Request<axum::body::Body>| request.map(|body| RequestBody::Axum { body }))
                .layer(self.stack.clone());
        self.routes.clone().unwrap_or_default().fallback_service(stack)
    }

    /// Serves until `shutdown` completes, and then stops gracefully. The server accepts no more requests, lets requests
    /// and turns continue for up to [`Limits::drain`], and shuts the engine down. Remaining streams end with
    /// `Unavailable`; their readers resume with the id of the last event.
    ///
    /// The shutdown can take longer than the drain: 2 s for deliveries of webhooks, 2 s for connections, 5 s for turns
    /// that do not end, 5 s for the bus, and the time the store needs to write. Usually the additional time is short. A
    /// supervisor that kills the process should wait for the drain and 15 s.
    ///
    /// A drop of the future closes the port and leaves open connections as they are.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let connections = Connections::new(&self.limits, self.service.drain.clone(), self.tells_peer);
        let merged = self.routes.is_some().then(|| hyper_service(self.router()));
        let accepting = async {
            match merged {
                None => connections.accept(self.listener, self.stack).await,
                Some(merged) => connections.accept(self.listener, merged).await,
            }
        };
        let ending = async {
            shutdown.await;
            self.service.drain.start();
        };
        let background = Running::start(self.background);
        tokio::join!(accepting, ending);
        drain(&self.service, background, &connections, self.limits.drain).await;
    }
}

/// A router as the service of this server's connections.
fn hyper_service(
    router: axum::Router,
) -> impl tower::Service<
    Request<RequestBody>,
    Response = Response<Body>,
    Error = std::convert::Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ Sync
+ 'static {
    router
        .map_request(|request: Request<RequestBody>| request.map(axum::body::Body::new))
        .map_response(|response: axum::response::Response| response.map(Body::Axum))
}

/// The work beside the server.
struct Running {
    stop: DropGuard,
    tasks: JoinSet<()>,
}

impl Running {
    fn start(works: Vec<Box<dyn Background>>) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for work in works {
            tasks.spawn(work.run(Box::pin(stop.clone().cancelled_owned())));
        }
        Self { stop: stop.drop_guard(), tasks }
    }

    /// Waits for the end of the work, and aborts the work after `timeout`. Webhooks that were not delivered are
    /// delivered after the next start.
    async fn stop(mut self, timeout: Duration) {
        drop(self.stop);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(timeout, ended).await.is_err() {
            self.tasks.abort_all();
        }
    }
}

async fn drain(service: &Service, background: Running, connections: &Connections, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    let backends = || service.mounts.all().iter().map(|mount| &mount.backend);
    let turns = || backends().map(Backend::running).sum::<usize>();
    let is_busy = || service.load.requests.count() > 0 || turns() > 0;
    tracing::info!(
        requests = service.load.requests.count(),
        streams = service.load.streams.count(),
        turns = turns(),
        "stopping"
    );
    while is_busy() && Instant::now() < deadline {
        tokio::time::sleep(LOOK).await;
    }
    // An engine closes its store at its end, so the work that reads the store must end before.
    background.stop(deadline.saturating_duration_since(Instant::now()).max(CLOSING)).await;
    let left = deadline.saturating_duration_since(Instant::now());
    join_all(backends().map(|backend| backend.shutdown(left))).await;
    service.drain.end_streams();
    connections.tracker.close();
    if tokio::time::timeout(CLOSING, connections.tracker.wait()).await.is_err() {
        tracing::warn!(
            connections = connections.tracker.len(),
            "connections did not end in time; closing the connections"
        );
        service.drain.abort();
        connections.tracker.wait().await;
    }
}
