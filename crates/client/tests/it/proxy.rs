//! A proxy that cuts connections at random, and stalls.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    time::sleep,
};

/// Passes on what comes, and cuts what a connection carries to its client after a number of bytes.
pub(crate) struct Proxy {
    pub(crate) address: String,
    state: Arc<State>,
}

struct State {
    to: String,
    /// Whether connections are cut, also those that are open.
    armed: AtomicBool,
    /// Whether nothing passes to clients.
    stalled: AtomicBool,
    /// How many will be.
    left: AtomicUsize,
    random: Mutex<u64>,
}

impl State {
    /// After how many bytes a connection is cut that begins to matter; `None` for one that is not.
    fn limit(&self) -> Option<usize> {
        let take = |left: usize| left.checked_sub(1);
        let before = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).ok()?;
        let mut random = self.random.lock().unwrap();
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = usize::try_from(*random >> 33).unwrap();
        // A stream whose task nobody was told cannot be taken up again, so the first has room for that. HTTP/2 gives its
        // readers whole frames of up to 16 KiB, so what is cut before one has passed is as if nothing had come.
        let least = if number.is_multiple_of(4) { 500 } else { 17_000 };
        Some(if before == CUTS { 6_000 } else { least + number % 16_000 })
    }
}

/// How often it cuts.
pub(crate) const CUTS: usize = 50;

impl Proxy {
    /// A proxy to this address. It cuts at other places for each seed.
    pub(crate) async fn start(to: &str, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            to: to.to_owned(),
            armed: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            left: AtomicUsize::new(CUTS),
            random: Mutex::new(seed),
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&serving)));
            }
        });
        Self { address, state }
    }

    /// Begins to cut.
    pub(crate) fn arm(&self) {
        self.state.armed.store(true, Ordering::SeqCst);
    }

    /// Lets nothing pass to clients any more, or lets it pass again.
    pub(crate) fn stall(&self, stalled: bool) {
        self.state.stalled.store(stalled, Ordering::SeqCst);
    }

    /// How often it will still cut.
    pub(crate) fn left(&self) -> usize {
        self.state.left.load(Ordering::SeqCst)
    }
}

async fn pass(client: TcpStream, state: Arc<State>) {
    let socket = TcpSocket::new_v4().unwrap();
    // Little is under way, so that who stalls here stalls the server.
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let Ok(server) = socket.connect(state.to.parse().unwrap()).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let up = async { drop(tokio::io::copy(&mut from_client, &mut to_server).await) };
    let down = async {
        let (mut buffer, mut limit) = (vec![0; 4_096], None);
        loop {
            while state.stalled.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(10)).await;
            }
            let Ok(count @ 1..) = from_server.read(&mut buffer).await else { return };
            if limit.is_none() && state.armed.load(Ordering::SeqCst) {
                limit = state.limit();
            }
            let passed = limit.map_or(count, |limit: usize| limit.min(count));
            if to_client.write_all(&buffer[..passed]).await.is_err() || limit == Some(passed) {
                return;
            }
            limit = limit.map(|limit| limit - passed);
        }
    };
    tokio::select! { () = up => {} () = down => {} }
}
