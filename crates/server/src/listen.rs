//! The accept loop: a limited number of connections, and one task for each.

mod chunks;
mod connection;
mod shares;
mod streams;
mod version;

use nuncio_limit::Sampled;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use connection::{Connection, Settings};
use http::{Request, Response};
use shares::Shares;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
};
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::{
    body::{Body, BoxError, RequestBody},
    drain::Drain,
    limits::Limits,
};

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 4096;

/// Listens on this address.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Without this option a server cannot listen on the same port again for a minute.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The state that all connections share.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) drain: Drain,
    /// The open connections.
    pub(crate) tracker: TaskTracker,
    settings: Arc<Settings>,
    slots: Arc<Semaphore>,
    shares: Arc<Shares>,
    closed: Arc<Sampled>,
    stall_time: Duration,
    tells_peer: bool,
}

impl Connections {
    /// `tells_peer` means that requests carry the address of their peer.
    pub(crate) fn new(limits: &Limits, drain: Drain, tells_peer: bool) -> Self {
        Self {
            drain,
            tracker: TaskTracker::new(),
            settings: Arc::new(Settings::new(limits)),
            slots: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            shares: Arc::new(Shares::new(limits.connections_per_address)),
            closed: Arc::default(),
            stall_time: limits.stall_time,
            tells_peer,
        }
    }

    /// Accepts connections until the drain starts. A clone of the service serves each connection.
    pub(crate) async fn accept<S>(&self, listener: TcpListener, service: S)
    where
        S: Service<Request<RequestBody>, Response = Response<Body>, Error: Into<BoxError>, Future: Send>,
        S: Clone + Send + Sync + 'static,
        S::Future: 'static,
    {
        let drained = self.drain.started();
        tokio::pin!(drained);
        loop {
            let slot = tokio::select! {
                slot = Arc::clone(&self.slots).acquire_owned() => slot,
                () = &mut drained => return,
            };
            let (stream, peer) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        rest_after(&error).await;
                        continue;
                    }
                },
                () = &mut drained => return,
            };
            let Some(share) = self.shares.take(peer) else {
                if let Some(silent) = self.closed.next() {
                    let limit = "connections_per_address";
                    tracing::warn!(limit, peer = %peer.ip(), silent, "a limit is reached: a connection is closed");
                }
                continue;
            };
            if let Err(error) = self.prepare(&stream) {
                tracing::debug!(%error, "cannot set the options of a connection; using the defaults");
            }
            let connection = Connection {
                settings: Arc::clone(&self.settings),
                drain: self.drain.clone(),
                peer: self.tells_peer.then_some(peer),
                slot: slot.ok(),
                share,
            };
            self.tracker.spawn(connection.serve(stream, service.clone()));
        }
    }
}

impl Connections {
    fn prepare(&self, stream: &TcpStream) -> io::Result<()> {
        // Nagle's algorithm delays small frames for 40 ms.
        stream.set_nodelay(true)?;
        // Without this option a client that disappears, or does not read, keeps its connection for a quarter of an
        // hour.
        #[cfg(target_os = "linux")]
        socket2::SockRef::from(stream).set_tcp_user_timeout(Some(self.stall_time))?;
        Ok(())
    }
}

/// Waits after an error that can last, for example if the process has no file descriptors left. Other errors concern
/// one connection only.
async fn rest_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections; retrying");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
