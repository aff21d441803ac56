//! Single requests outside of measurements, and streams that stay open without reads.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use memchr::memmem;

use super::{
    STALL, Until, http1,
    request::{Template, next_number},
    response::{self, Framing},
    unary::Unary,
    watch::Waits,
};

/// The id of the task that one request creates.
pub(crate) fn create_task(address: SocketAddr, unary: Unary) -> Result<String> {
    let mut unary = unary.keeping_ids();
    http1::run(address, Waits::Asleep, 1, Until::Count(1), &mut unary)?;
    unary.into_ids().pop().context("no task was created")
}

/// Creates `count` tasks over 16 connections and returns their ids in the order of their ends.
pub(crate) fn create_tasks(address: SocketAddr, count: u64, unary: Unary) -> Result<Vec<String>> {
    let mut unary = unary.keeping_ids();
    http1::run(address, Waits::Asleep, 16, Until::Count(count), &mut unary)?;
    Ok(unary.into_ids())
}

/// A stream after its first event, without further reads.
#[derive(Debug)]
pub(crate) struct IdleStream {
    stream: TcpStream,
    /// The received bytes.
    seen: Vec<u8>,
}

impl IdleStream {
    /// Opens a stream and waits for its first event.
    pub(crate) fn open(address: SocketAddr, request: &mut Template, number: u64) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(STALL))?;
        stream.write_all(request.fill(number))?;
        let (mut answer, mut scratch) = (Vec::new(), [0; 4096]);
        loop {
            let read = stream.read(&mut scratch).context("a stream did not start")?;
            answer.extend_from_slice(&scratch[..read]);
            let text = String::from_utf8_lossy(&answer);
            let begun = text.contains("data:") && text.contains("TASK_STATE_");
            if begun && text.starts_with("HTTP/1.1 200 ") {
                stream.set_nonblocking(true)?;
                return Ok(Self { stream, seen: answer });
            }
            if read == 0 || text.contains("\"error\"") || !text.starts_with("HTTP/1.1 200 ") {
                bail!("a stream did not start; the answer is: {text}");
            }
        }
    }

    /// Reads until the stream contains `text`, at most for `limit`, and returns the time of arrival.
    pub(crate) fn await_text(&mut self, text: &str, limit: Duration) -> Result<Instant> {
        let deadline = Instant::now() + limit;
        self.stream.set_nonblocking(false)?;
        let mut scratch = [0; 4096];
        while memmem::find(&self.seen, text.as_bytes()).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("a stream did not contain {text} within {} s", limit.as_secs());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut scratch) {
                Ok(0) => bail!("a stream ended before {text}"),
                Ok(read) => self.seen.extend_from_slice(&scratch[..read]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Instant::now())
    }

    /// Whether the server keeps the stream open. Discards available data.
    pub(crate) fn check_open(&mut self) -> bool {
        let mut scratch = [0; 4096];
        loop {
            match self.stream.read(&mut scratch) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}

/// A connection for consecutive requests outside of measurements.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
}

impl Line {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(STALL))?;
        Ok(Self { stream })
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).context("cannot send a request")
    }

    /// The body of the answer.
    pub(crate) fn answer(&mut self) -> Result<Vec<u8>> {
        let (mut answer, mut scratch) = (Vec::new(), [0; 4096]);
        loop {
            let read = self.stream.read(&mut scratch).context("no answer")?;
            answer.extend_from_slice(&scratch[..read]);
            if let Some(head) = response::parse(&answer)?
                && let Framing::Length(length) = head.framing
                && answer.len() >= head.length + length
            {
                return Ok(answer.split_off(head.length));
            }
            if read == 0 {
                bail!("a connection was closed before its answer");
            }
        }
    }
}

/// The length of the answer to one echo, in bytes of the body.
pub(crate) fn answer_length(address: SocketAddr) -> Result<usize> {
    let (mut line, mut echo, number) = (Line::open(address)?, Unary::echo_jsonrpc(), next_number());
    line.send(echo.request(number))?;
    let answer = line.answer()?;
    echo.check(number, &answer)?;
    Ok(answer.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ceiling, load::request::message};

    #[test]
    fn a_stream_is_read_until_the_awaited_text_and_not_beyond() {
        let mut request = Template::jsonrpc("SendStreamingMessage", &message("stream 5 size=64"));
        let mut open = || IdleStream::open(ceiling::tests::address(), &mut request, 100_000_000_000).unwrap();
        assert!(open().await_text("TASK_STATE_COMPLETED", STALL).is_ok());
        assert!(open().await_text("TASK_STATE_FAILED", Duration::from_millis(100)).is_err());
    }
}
