//! A TCP proxy that applies faults to its connections.

mod link;

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The faults of a proxy's connections. The default has no faults: all data passes immediately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Faults {
    /// New connections are reset immediately; existing connections continue. Together with [`Proxy::cut`], the server
    /// appears to be down.
    pub refuses: bool,
    /// No data passes in either direction, no connection is closed, and new connections are accepted, like in a network
    /// that drops packets. The held data is delivered after the fault.
    pub holds: bool,
    /// Data from clients is delivered, and answers of the server are lost. A connection with a lost answer is reset
    /// after the fault.
    pub loses_replies: bool,
    /// The delay of data from clients.
    pub delay_up: Duration,
    /// The delay of answers of the server.
    pub delay_down: Duration,
}

/// A proxy on a free port of 127.0.0.1 with its own thread. Dropping the value closes its connections and its port.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    faults: watch::Sender<Faults>,
    /// The switches of the current connections; when these are used, new switches replace them for later connections.
    connections: Arc<Mutex<Switches>>,
    cuts: Cuts,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// The byte counts of answers after which a connection is cut; each cut removes one count.
type Cuts = Arc<Mutex<VecDeque<usize>>>;

/// Permanent faults of a group of connections.
#[derive(Debug, Clone)]
struct Switches {
    cut: CancellationToken,
    stall: CancellationToken,
}

impl Switches {
    fn new(end: &CancellationToken) -> Self {
        Self { cut: end.child_token(), stall: CancellationToken::new() }
    }
}

impl Proxy {
    /// A proxy for the server at `HOST:PORT`, which can start later.
    ///
    /// # Errors
    ///
    /// If no port is free.
    pub fn start(server: impl Into<String>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port of 127.0.0.1 is free")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (faults, seen) = watch::channel(Faults::default());
        let end = CancellationToken::new();
        let connections = Arc::new(Mutex::new(Switches::new(&end)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let cuts = Cuts::default();
        let way = link::Way { server: server.into(), faults: seen, cuts: Arc::clone(&cuts) };
        let work = link::accept(listener, way, Arc::clone(&connections), end.clone());
        let thread = thread::Builder::new().name("proxy".to_owned()).spawn(move || runtime.block_on(work))?;
        Ok(Self { address, faults, connections, cuts, end, thread: Some(thread) })
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the faults, with immediate effect on all connections.
    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        self.faults.send_modify(change);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.set(|faults| *faults = Faults::default());
    }

    /// Resets all current connections.
    pub fn cut(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *connections, Switches::new(&self.end)).cut.cancel();
    }

    /// Resets connections after byte counts of the server's answers, counted from now. The first current or later
    /// connection with data after the first count is reset, the next connection after the second count, and so on,
    /// until no count is left.
    pub fn cut_after(&self, bytes: impl IntoIterator<Item = usize>) {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
    }

    /// The number of unused counts.
    pub fn cuts_left(&self) -> usize {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Stops all data on the current connections permanently, without closing them: the other end appears alive and
    /// silent. New connections are not affected.
    pub fn stall(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.stall.cancel();
        connections.stall = CancellationToken::new();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
