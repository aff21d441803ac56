//! Readers of event streams over HTTP/1.1: one thread, one poll, every event counted and put in order.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use mio::{Events, Poll, Token, net::TcpStream};

use super::{
    Slice, Until,
    body::{Chunked, Piece},
    histogram,
    http1::connect,
    record,
    request::{Template, next_number},
    response::{self, Framing},
    sequence::{Finders, Kind, Sequence},
    watch::{Waits, Watch},
};

pub(super) const SCRATCH: usize = 256 * 1024;

/// What the readers ask for and have to get.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Asks for one stream.
    pub(crate) request: Template,
    /// Chunks in each.
    pub(crate) chunks: u64,
    /// Streams read side by side.
    pub(crate) readers: usize,
}

/// When the time of a measurement starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// When the first request is sent; latency is from a request to its first chunk.
    Request,
    /// When any reader gets its first chunk; latency is from there to each reader's.
    FirstChunk,
}

/// Reads streams one after the other on each connection. The slice counts events.
pub(crate) fn run(
    address: SocketAddr,
    waits: Waits,
    streams: &mut Streams,
    until: Until,
    clock: Clock,
) -> Result<Slice> {
    let mut watch = Watch::new(waits)?;
    let mut events = Events::with_capacity(256);
    let mut scratch = vec![0; SCRATCH];
    let finders = Finders::default();
    let mut readers = (0..streams.readers)
        .map(|position| Reader::open(address, Token(position), watch.poll()))
        .collect::<Result<Vec<_>>>()?;

    let started = Instant::now();
    let mut tally = Tally { events: 0, first_chunks: Vec::new() };
    let (mut sent, mut busy) = (0, readers.len());
    for reader in &mut readers {
        reader.send(streams)?;
        sent += 1;
    }
    while busy > 0 {
        watch.wait(&mut events)?;
        for event in &events {
            let reader = &mut readers[event.token().0];
            if !reader.receive(&mut scratch, &finders)? {
                continue;
            }
            tally.add(reader)?;
            if until.allows(sent, started.elapsed()) {
                reader.send(streams)?;
                sent += 1;
            } else {
                busy -= 1;
            }
        }
    }
    tally.slice(started, clock, watch.idle())
}

struct Tally {
    events: u64,
    /// When a request was sent and when its first chunk came.
    first_chunks: Vec<(Instant, Instant)>,
}

impl Tally {
    fn add(&mut self, reader: &Reader) -> Result<()> {
        reader.sequence.finish()?;
        self.events += reader.sequence.events;
        self.first_chunks.extend(reader.first_chunk.map(|at| (reader.sent_at, at)));
        Ok(())
    }

    fn slice(self, started: Instant, clock: Clock, idle: Duration) -> Result<Slice> {
        let ended = Instant::now();
        let first = self.first_chunks.iter().map(|&(_, at)| at).min();
        let begun = match clock {
            Clock::Request => started,
            Clock::FirstChunk => first.context("no chunk came after the readers had joined")?,
        };
        let mut latency = histogram()?;
        for (sent_at, at) in self.first_chunks {
            let from = if clock == Clock::Request { sent_at } else { begun };
            record(&mut latency, at - from);
        }
        Ok(Slice { done: self.events, wall: (ended - begun).max(Duration::from_nanos(1)), idle, latency })
    }
}

/// A connection and the stream under way on it.
pub(super) struct Reader {
    stream: TcpStream,
    sent_at: Instant,
    first_chunk: Option<Instant>,
    /// When each chunk came that was an event of its own, if that is asked for.
    arrivals: Option<Vec<Instant>>,
    /// The head of the response, until all of it is there.
    head: Option<Vec<u8>>,
    body: Chunked,
    /// The start of a line that came in pieces.
    line: Vec<u8>,
    pub(super) sequence: Sequence,
}

impl Reader {
    pub(super) fn open(address: SocketAddr, token: Token, poll: &Poll) -> Result<Self> {
        Ok(Self {
            stream: connect(address, token, poll)?,
            sent_at: Instant::now(),
            first_chunk: None,
            arrivals: None,
            head: None,
            body: Chunked::default(),
            line: Vec::new(),
            sequence: Sequence::of(0),
        })
    }

    /// Notes when each chunk comes.
    pub(super) fn noting_arrivals(self) -> Self {
        Self { arrivals: Some(Vec::new()), ..self }
    }

    /// What was noted.
    pub(super) fn into_arrivals(self) -> Vec<Instant> {
        self.arrivals.unwrap_or_default()
    }

    pub(super) fn send(&mut self, streams: &mut Streams) -> Result<()> {
        self.first_chunk = None;
        self.head = Some(Vec::new());
        self.body = Chunked::default();
        self.line.clear();
        self.sequence = Sequence::of(streams.chunks);
        self.sent_at = Instant::now();
        // A request is small and the socket empty, so it fits.
        let request = streams.request.fill(next_number());
        self.stream.write_all(request).context("cannot send a request")
    }

    /// Reads what has come; true when the stream is complete.
    pub(super) fn receive(&mut self, scratch: &mut [u8], finders: &Finders) -> Result<bool> {
        loop {
            match self.stream.read(scratch) {
                Ok(0) => bail!("the server closed a connection after {} events", self.sequence.events),
                Ok(read) => {
                    if self.take(&scratch[..read], finders)? {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&mut self, mut input: &[u8], finders: &Finders) -> Result<bool> {
        if let Some(mut head) = self.head.take() {
            head.extend_from_slice(input);
            match response::parse(&head)? {
                None => {
                    self.head = Some(head);
                    return Ok(false);
                }
                Some(parsed) if parsed.status != 200 || parsed.framing != Framing::Chunked => {
                    bail!("not a stream: {}", String::from_utf8_lossy(&head));
                }
                // Only the last bytes taken can belong to the body.
                Some(parsed) => input = &input[input.len() - (head.len() - parsed.length)..],
            }
        }
        loop {
            match self.body.next(&mut input)? {
                Piece::Data(data) => self.lines(data, finders)?,
                Piece::More => return Ok(false),
                Piece::End if input.is_empty() => return Ok(true),
                Piece::End => bail!("{} bytes after a stream", input.len()),
            }
        }
    }

    fn lines(&mut self, mut data: &[u8], finders: &Finders) -> Result<()> {
        while let Some(end) = memchr::memchr(b'\n', data) {
            let (line, rest) = (&data[..end], &data[end + 1..]);
            data = rest;
            let kind = if self.line.is_empty() {
                event(line, &mut self.sequence, finders)?
            } else {
                self.line.extend_from_slice(line);
                let kind = event(&self.line, &mut self.sequence, finders)?;
                self.line.clear();
                kind
            };
            if kind == Some(Kind::Chunk) {
                self.first_chunk.get_or_insert_with(Instant::now);
                if let Some(arrivals) = &mut self.arrivals {
                    arrivals.push(Instant::now());
                }
            }
        }
        self.line.extend_from_slice(data);
        Ok(())
    }
}

fn event(line: &[u8], sequence: &mut Sequence, finders: &Finders) -> Result<Option<Kind>> {
    let data = line.strip_prefix(b"data:");
    data.map(|data| sequence.event(finders, data)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ceiling, load::request::message};

    fn streams(asked: u64, expected: u64) -> Streams {
        Streams {
            request: Template::jsonrpc("SendStreamingMessage", &message(&format!("stream {asked} size=64"))),
            chunks: expected,
            readers: 4,
        }
    }

    #[test]
    fn counts_every_event_of_every_stream() {
        let slice =
            run(ceiling::tests::address(), Waits::Awake, &mut streams(1_000, 1_000), Until::Count(8), Clock::Request)
                .unwrap();
        assert_eq!((slice.done, slice.latency.len()), (8 * 1_003, 8));
    }

    #[test]
    fn refuses_a_stream_of_another_length() {
        let outcome =
            run(ceiling::tests::address(), Waits::Awake, &mut streams(10, 11), Until::Count(1), Clock::Request);
        assert!(outcome.unwrap_err().to_string().contains("10 chunks of 11"));
    }
}
