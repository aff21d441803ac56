//! A TCP proxy that breaks what goes through it.

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

/// What a proxy does to its connections. The default is nothing: it passes everything on at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Faults {
    /// New connections are reset at once; the others go on. With [`Proxy::cut`] the server is gone.
    pub refuses: bool,
    /// Nothing passes in either direction, nothing is closed, and new connections are accepted: a network that swallows
    /// packets. What was held goes on its way afterwards.
    pub holds: bool,
    /// What clients send arrives, and what the server answers does not. A connection that lost an answer is reset
    /// afterwards.
    pub loses_replies: bool,
    /// By how much what clients send is late.
    pub delay_up: Duration,
    /// By how much what the server answers is late.
    pub delay_down: Duration,
}

/// A proxy on a free port of 127.0.0.1, on a thread of its own. Dropping it closes its connections and its port.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    faults: watch::Sender<Faults>,
    /// For the connections of now; others take their place when these are used.
    connections: Arc<Mutex<Switches>>,
    cuts: Cuts,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// After how many bytes of answers connections are cut, of each the next.
type Cuts = Arc<Mutex<VecDeque<usize>>>;

/// What is done to some connections for good.
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
    /// A proxy for the server at `HOST:PORT`, which need not be there yet.
    ///
    /// # Errors
    ///
    /// When no port is free.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what it does, from now on and to all of its connections.
    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        self.faults.send_modify(change);
    }

    /// Passes everything on again.
    pub fn heal(&self) {
        self.set(|faults| *faults = Faults::default());
    }

    /// Resets all connections of now.
    pub fn cut(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *connections, Switches::new(&self.end)).cut.cancel();
    }

    /// Resets connections, of now and of later, when so many bytes of what the server answers have passed from now on:
    /// the first over which anything comes after the first number, the second after the second, until there is none
    /// left.
    pub fn cut_after(&self, bytes: impl IntoIterator<Item = usize>) {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
    }

    /// How many of these numbers no connection has taken yet.
    pub fn cuts_left(&self) -> usize {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Passes nothing on any more over the connections of now, and closes none of them: the other end is there and says
    /// nothing, for good. New ones are as good as ever.
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
