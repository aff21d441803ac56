//! A connection through a proxy: each direction reads immediately and writes at the due time.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream, lookup_host},
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{Cuts, Faults, Switches};

/// The size of a read, and the maximum number of pieces in transit.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 64;

/// The shared data of all connections: the target and the faults.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) server: String,
    pub(super) faults: watch::Receiver<Faults>,
    pub(super) cuts: Cuts,
}

pub(super) async fn accept(
    listener: std::net::TcpListener,
    way: Way,
    connections: Arc<Mutex<Switches>>,
    end: CancellationToken,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let client = tokio::select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => return,
        };
        let Ok((client, _)) = client else { continue };
        if way.faults.borrow().refuses {
            reset(&client);
            continue;
        }
        let switches = connections.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::spawn(link(client, way.clone(), switches));
    }
}

async fn link(client: TcpStream, way: Way, switches: Switches) {
    let Switches { cut, stall } = switches;
    let mut client = client;
    let work = async {
        wait(&mut way.faults.clone(), |faults| !faults.holds).await?;
        connect(&way.server).await
    };
    let server = tokio::select! {
        server = work => server,
        () = cut.cancelled() => Err(gone()),
    };
    let Ok(mut server) = server else { return reset(&client) };
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    let done = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let both = async {
            tokio::try_join!(
                pass(from_client, to_server, Direction::Up, way.clone()),
                pass(from_server, to_client, Direction::Down, way.clone()),
            )
        };
        tokio::select! {
            done = both => done.map(|_| ()),
            () = cut.cancelled() => Err(gone()),
            () = stall.cancelled() => {
                cut.cancelled().await;
                Err(gone())
            }
        }
    };
    if done.is_err() {
        reset(&client);
        reset(&server);
    }
}

/// Small buffers, so that backpressure reaches the server.
async fn connect(server: &str) -> io::Result<TcpStream> {
    let address = lookup_host(server).await?.next().ok_or(io::ErrorKind::NotFound)?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_recv_buffer_size(4 * u32::try_from(PIECE).unwrap_or(u32::MAX))?;
    socket.connect(address).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    fn delay(self, faults: &Faults) -> Duration {
        if self == Self::Up { faults.delay_up } else { faults.delay_down }
    }

    fn is_lost(self, faults: &Faults) -> bool {
        self == Self::Down && faults.loses_replies
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    direction: Direction,
    way: Way,
) -> io::Result<()> {
    let (read, mut written) = mpsc::channel::<(Instant, Vec<u8>)>(PIECES);
    let Way { mut faults, cuts, .. } = way;
    let delays = faults.clone();
    let reading = async move {
        loop {
            let mut piece = vec![0; PIECE];
            let length = from.read(&mut piece).await?;
            piece.truncate(length);
            let due = Instant::now() + direction.delay(&delays.borrow());
            if read.send((due, piece)).await.is_err() || length == 0 {
                return Ok(());
            }
        }
    };
    let writing = async {
        let mut cut = None;
        while let Some((due, piece)) = written.recv().await {
            tokio::time::sleep_until(due).await;
            wait(&mut faults, |faults| !faults.holds).await?;
            if direction.is_lost(&faults.borrow()) {
                return lose(&mut written, &mut faults).await;
            }
            if piece.is_empty() {
                return to.shutdown().await;
            }
            if direction == Direction::Down && cut.is_none() {
                cut = cuts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            }
            let passed = cut.map_or(piece.len(), |cut: usize| cut.min(piece.len()));
            to.write_all(&piece[..passed]).await?;
            if cut == Some(passed) {
                return Err(gone());
            }
            cut = cut.map(|cut| cut - passed);
        }
        Ok(())
    };
    tokio::try_join!(reading, writing).map(|_| ())
}

/// Discards data as long as answers are lost. The connection cannot continue afterwards.
async fn lose(
    written: &mut mpsc::Receiver<(Instant, Vec<u8>)>,
    faults: &mut watch::Receiver<Faults>,
) -> io::Result<()> {
    let throwing = async {
        while written.recv().await.is_some() {}
        std::future::pending().await
    };
    tokio::select! {
        healed = wait(faults, |faults| !faults.loses_replies) => healed.and(Err(gone())),
        never = throwing => never,
    }
}

async fn wait(faults: &mut watch::Receiver<Faults>, until: impl FnMut(&Faults) -> bool) -> io::Result<()> {
    faults.wait_for(until).await.map(|_| ()).map_err(|_| gone())
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// Makes closing a connection a reset: the other end receives an error instead of an end.
fn reset(stream: &TcpStream) {
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
}
