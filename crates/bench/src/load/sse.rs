//! Readers of event streams over HTTP/1.1: one thread, one poll; every event is counted and its order is checked.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
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

/// The requests of the readers, and the expected answers.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The request for one stream.
    pub(crate) request: Template,
    /// The number of chunks in each stream.
    pub(crate) chunks: u64,
    /// The number of concurrent streams.
    pub(crate) readers: usize,
}

/// Reads streams one after another on each connection. The slice counts events; the latency is the time from a request
/// to the first chunk.
pub(crate) fn run(address: SocketAddr, waits: Waits, streams: &mut Streams, until: Until) -> Result<Slice> {
    let mut readers = Readers::open(address, waits, streams.readers)?;
    let started = Instant::now();
    let mut tally = StreamTotals::new()?;
    let (mut sent, mut busy) = (0, streams.readers);
    for reader in &mut readers.each {
        reader.send(streams)?;
        sent += 1;
    }
    while busy > 0 {
        readers.receive(|reader, is_complete| {
            if !is_complete {
                return Ok(());
            }
            tally.add(reader, reader.sent_at)?;
            if until.allows(sent, started.elapsed()) {
                reader.send(streams)?;
                sent += 1;
            } else {
                busy -= 1;
            }
            Ok(())
        })?;
    }
    Ok(tally.slice(started.elapsed(), readers.idle()))
}

/// The concurrent connections.
pub(super) struct Readers {
    watch: Watch,
    events: Events,
    scratch: Vec<u8>,
    finders: Finders,
    pub(super) each: Vec<Reader>,
}

impl Readers {
    pub(super) fn open(address: SocketAddr, waits: Waits, count: usize) -> Result<Self> {
        let watch = Watch::new(waits)?;
        let each = (0..count)
            .map(|position| Reader::open(address, Token(position), watch.poll()))
            .collect::<Result<Vec<_>>>()?;
        let events = Events::with_capacity(256);
        Ok(Self { watch, events, scratch: vec![0; SCRATCH], finders: Finders::default(), each })
    }

    /// Waits for data, reads the data, and calls `tell` for each reader with new data and whether its stream is
    /// complete.
    pub(super) fn receive(&mut self, mut tell: impl FnMut(&mut Reader, bool) -> Result<()>) -> Result<()> {
        self.watch.wait(&mut self.events)?;
        for event in &self.events {
            let reader = &mut self.each[event.token().0];
            let is_complete = reader.receive(&mut self.scratch, &self.finders)?;
            tell(reader, is_complete)?;
        }
        Ok(())
    }

    /// The time without work.
    pub(super) fn idle(&self) -> Duration {
        self.watch.idle()
    }
}

/// The totals of the complete streams.
pub(super) struct StreamTotals {
    events: u64,
    latency: Histogram<u64>,
}

impl StreamTotals {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { events: 0, latency: histogram()? })
    }

    /// Counts a stream, with the delay of its first chunk after `since`.
    pub(super) fn add(&mut self, reader: &Reader, since: Instant) -> Result<()> {
        reader.sequence.finish()?;
        self.events += reader.sequence.events;
        if let Some(at) = reader.first_chunk {
            record(&mut self.latency, at - since);
        }
        Ok(())
    }

    pub(super) fn slice(self, wall: Duration, idle: Duration) -> Slice {
        Slice { done: self.events, wall: wall.max(Duration::from_nanos(1)), idle, latency: self.latency }
    }
}

/// A connection and its current stream.
pub(super) struct Reader {
    stream: TcpStream,
    sent_at: Instant,
    first_chunk: Option<Instant>,
    /// The arrival times of chunks with separate events, if requested.
    arrivals: Option<Vec<Instant>>,
    /// The incomplete head of the response.
    head: Option<Vec<u8>>,
    body: Chunked,
    /// The first bytes of an incomplete line.
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

    /// Records the arrival time of each chunk.
    pub(super) fn noting_arrivals(self) -> Self {
        Self { arrivals: Some(Vec::new()), ..self }
    }

    /// The recorded times.
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
        // A request is small and the send buffer is empty, so the write does not block.
        let request = streams.request.fill(next_number());
        self.stream.write_all(request).context("cannot send a request")
    }

    /// Reads the available bytes; `true` if the stream is complete.
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
                // Only the last received bytes can belong to the body.
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
        let slice = run(ceiling::tests::address(), Waits::Awake, &mut streams(1_000, 1_000), Until::Count(8)).unwrap();
        assert_eq!((slice.done, slice.latency.len()), (8 * 1_003, 8));
    }

    #[test]
    fn refuses_a_stream_of_another_length() {
        let outcome = run(ceiling::tests::address(), Waits::Awake, &mut streams(10, 11), Until::Count(1));
        assert!(outcome.unwrap_err().to_string().contains("10 chunks of 11"));
    }
}
