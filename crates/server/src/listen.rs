//! The accept loop: connections in, bounded in number, each driven by its own task.

mod connection;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use connection::Connection;
use http::{Request, Response};
use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto,
};
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

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 4096;

/// Listens on this address.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Without it a server cannot come back at its port for a minute.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What all connections share.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) drain: Drain,
    /// The connections that are open.
    pub(crate) tracker: TaskTracker,
    http: Arc<auto::Builder<TokioExecutor>>,
    slots: Arc<Semaphore>,
    head_time: Duration,
    stall_time: Duration,
    tells_peer: bool,
}

impl Connections {
    /// `tells_peer` is whether requests carry from where they came.
    pub(crate) fn new(limits: &Limits, drain: Drain, tells_peer: bool) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            // Small buffers are what makes idle connections cheap.
            .max_buf_size(limits.head.max(8 * 1024));
        http.http2()
            .timer(TokioTimer::new())
            .adaptive_window(true)
            .max_concurrent_streams(limits.streams_per_connection)
            .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
            .max_send_buf_size(64 * 1024)
            // A peer that is gone without a word is noticed within a minute.
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        Self {
            drain,
            tracker: TaskTracker::new(),
            http: Arc::new(http),
            slots: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            head_time: limits.head_time,
            stall_time: limits.stall_time,
            tells_peer,
        }
    }

    /// Accepts connections until the drain begins; each is served by a clone of the service.
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
            if let Err(error) = self.prepare(&stream) {
                tracing::debug!(%error, "a connection keeps the system's settings");
            }
            let connection = Connection {
                http: Arc::clone(&self.http),
                drain: self.drain.clone(),
                head_time: self.head_time,
                peer: self.tells_peer.then_some(peer),
                slot: slot.ok(),
            };
            self.tracker.spawn(connection.serve(stream, service.clone()));
        }
    }
}

impl Connections {
    fn prepare(&self, stream: &TcpStream) -> io::Result<()> {
        // Nagle's algorithm holds small frames back for 40 ms.
        stream.set_nodelay(true)?;
        // Else a client that is gone without a word, or does not read, keeps its connection for a quarter of an hour.
        #[cfg(target_os = "linux")]
        socket2::SockRef::from(stream).set_tcp_user_timeout(Some(self.stall_time))?;
        Ok(())
    }
}

/// Some errors are of the one connection; others, of a process without file descriptors for example, last.
async fn rest_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "no connection can be accepted");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
