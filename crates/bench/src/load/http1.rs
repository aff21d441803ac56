//! Requests over HTTP/1.1 connections with keep-alive, one at a time per connection: one thread, one poll.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{self, SocketAddr},
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use mio::{Events, Interest, Poll, Token, net::TcpStream};

use super::{
    Slice, Until,
    body::{Chunked, Piece},
    histogram, record,
    request::next_number,
    response::{self, Framing},
    unary::Unary,
    watch::{Waits, Watch},
};

const SCRATCH: usize = 256 * 1024;

/// Sends requests over `concurrency` connections.
pub(crate) fn run(
    address: SocketAddr,
    waits: Waits,
    concurrency: usize,
    until: Until,
    unary: &mut Unary,
) -> Result<Slice> {
    let mut watch = Watch::new(waits)?;
    let mut events = Events::with_capacity(256);
    let mut scratch = vec![0; SCRATCH];
    let mut latency = histogram()?;
    let mut lanes = (0..concurrency)
        .map(|position| Lane::open(address, Token(position), watch.poll()))
        .collect::<Result<Vec<_>>>()?;

    let started = Instant::now();
    let (mut sent, mut done, mut busy) = (0, 0, 0);
    for lane in &mut lanes {
        if until.allows(sent, started.elapsed()) {
            lane.send(unary)?;
            (sent, busy) = (sent + 1, busy + 1);
        }
    }
    while busy > 0 {
        watch.wait(&mut events)?;
        for event in &events {
            let lane = &mut lanes[event.token().0];
            if !lane.receive(&mut scratch, unary)? {
                continue;
            }
            let now = Instant::now();
            record(&mut latency, now - lane.sent_at);
            done += 1;
            if until.allows(sent, now - started) {
                lane.send(unary)?;
                sent += 1;
            } else {
                busy -= 1;
            }
        }
    }
    Ok(Slice { done, wall: started.elapsed(), idle: watch.idle(), latency })
}

/// A connected nonblocking socket, registered with `poll`.
pub(super) fn connect(address: SocketAddr, token: Token, poll: &Poll) -> Result<TcpStream> {
    let stream = net::TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut stream = TcpStream::from_std(stream);
    poll.registry().register(&mut stream, token, Interest::READABLE)?;
    Ok(stream)
}

/// A connection and its current request.
struct Lane {
    stream: TcpStream,
    number: u64,
    sent_at: Instant,
    /// The first bytes of an incomplete answer.
    partial: Vec<u8>,
}

impl Lane {
    fn open(address: SocketAddr, token: Token, poll: &Poll) -> Result<Self> {
        Ok(Self { stream: connect(address, token, poll)?, number: 0, sent_at: Instant::now(), partial: Vec::new() })
    }

    fn send(&mut self, unary: &mut Unary) -> Result<()> {
        self.number = next_number();
        let request = unary.request(self.number);
        self.sent_at = Instant::now();
        // A request is small and the send buffer is empty, so the write does not block.
        self.stream.write_all(request).context("cannot send a request")
    }

    /// Reads the available bytes; `true` if the answer is complete. An answer in one piece is not copied.
    fn receive(&mut self, scratch: &mut [u8], unary: &mut Unary) -> Result<bool> {
        loop {
            let read = match self.stream.read(scratch) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(read) => &scratch[..read],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let whole = self.partial.is_empty();
            if !whole {
                self.partial.extend_from_slice(read);
            }
            let answer = if whole { read } else { &self.partial };
            if complete(answer, self.number, unary)? {
                self.partial.clear();
                return Ok(true);
            }
            if whole {
                self.partial.extend_from_slice(read);
            }
        }
    }
}

/// Whether `bytes` are a complete answer; a complete answer is also checked.
fn complete(bytes: &[u8], number: u64, unary: &mut Unary) -> Result<bool> {
    let Some(head) = response::parse(bytes)? else {
        return Ok(false);
    };
    let mut rest = &bytes[head.length..];
    let decoded;
    let body = match head.framing {
        Framing::Length(length) if rest.len() < length => return Ok(false),
        Framing::Length(length) => {
            let (body, after) = rest.split_at(length);
            rest = after;
            body
        }
        Framing::Chunked => {
            let Some(body) = decode(&mut rest)? else {
                return Ok(false);
            };
            decoded = body;
            &decoded
        }
    };
    if head.status != 200 {
        bail!("status {}: {}", head.status, String::from_utf8_lossy(body));
    }
    if !rest.is_empty() {
        bail!("{} bytes after an answer", rest.len());
    }
    unary.check(number, body)?;
    Ok(true)
}

fn decode(rest: &mut &[u8]) -> Result<Option<Vec<u8>>> {
    let (mut chunked, mut body) = (Chunked::default(), Vec::new());
    loop {
        match chunked.next(rest)? {
            Piece::Data(data) => body.extend_from_slice(data),
            Piece::More => return Ok(None),
            Piece::End => return Ok(Some(body)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;
    use crate::ceiling;

    #[test]
    fn counts_every_answer() {
        let slice =
            run(ceiling::tests::address(), Waits::Awake, 16, Until::Count(1_000), &mut Unary::echo_jsonrpc()).unwrap();
        assert_eq!((slice.done, slice.latency.len()), (1_000, 1_000));
        assert!(slice.idle <= slice.wall, "{slice:?}");
    }

    #[test]
    fn reads_an_answer_in_pieces_and_in_chunks() {
        let id = "{\"result\":{\"task\":{\"id\":\"t\",\"state\":\"TASK_STATE_COMPLETED\"}}}";
        let length = id.len();
        let sized = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{id}");
        let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{id}\r\n0\r\n\r\n");
        for answer in [sized, chunked] {
            assert!(
                run(scripted(answer), Waits::Asleep, 1, Until::Count(1), &mut Unary::send("x", "COMPLETED")).is_ok()
            );
        }
    }

    #[test]
    fn refuses_errors_and_closed_connections() {
        for answer in ["HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\nCOMPLETED", "HTTP/1.1 200 OK\r\n"] {
            let outcome =
                run(scripted(answer.to_owned()), Waits::Awake, 1, Until::Count(1), &mut Unary::send("x", "COMPLETED"));
            assert!(outcome.is_err(), "{answer}");
        }
    }

    /// Answers one request with `answer`, byte by byte, and closes the connection.
    fn scripted(answer: String) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            for byte in answer.as_bytes() {
                stream.write_all(&[*byte]).unwrap();
                thread::yield_now();
            }
        });
        address
    }
}
