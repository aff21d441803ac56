//! Reads server-sent events from chunks of any size.

use std::{fmt, time::Duration};

use memchr::{memchr, memchr2};

/// A received event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The last id that was sent, with this event or before this event.
    pub id: Option<String>,
    /// The type of the event, if any.
    pub event: Option<String>,
    /// The data. Several lines are joined with line feeds.
    pub data: String,
}

impl Event {
    /// The sequence number of the event in the log of its task, from the id.
    pub fn sequence(&self) -> Option<u64> {
        self.id.as_ref()?.parse().ok()
    }
}

/// An event exceeds the limit. The rest of the stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of the stream exceeds the limit of {} bytes", self.limit)
    }
}

impl std::error::Error for TooLarge {}

/// Converts bytes to events: [`push`](Self::push) received bytes, then [`pop`](Self::pop) events until there are no
/// more.
///
/// An incomplete event at the end of a stream is not an event and is dropped with the decoder.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    buffer: Vec<u8>,
    /// The start of the current line.
    line: usize,
    /// The buffer has no line end between the start of the line and this position.
    scanned: usize,
    started: bool,
    /// The last byte was a carriage return. A line feed directly after a carriage return does not end a second line.
    after_return: bool,
    pending: Event,
    has_data: bool,
    retry: Option<Duration>,
}

impl Decoder {
    /// Creates a decoder that buffers at most `limit` bytes of one event.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            line: 0,
            scanned: 0,
            started: false,
            after_return: false,
            pending: Event::default(),
            has_data: false,
            retry: None,
        }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.line > 0 {
            self.buffer.drain(..self.line);
            self.scanned -= self.line;
            self.line = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, or `None` if more bytes are needed.
    pub fn pop(&mut self) -> Result<Option<Event>, TooLarge> {
        while let Some((start, end)) = self.next_line() {
            self.check(end - start)?;
            if let Some(event) = self.take_line(start, end) {
                return Ok(Some(event));
            }
        }
        self.check(self.buffer.len() - self.line)?;
        Ok(None)
    }

    /// The time that the server asks readers to wait before they reconnect.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The last id that was sent. A reader that reconnects sends the id as `Last-Event-ID`.
    pub fn last_id(&self) -> Option<&str> {
        self.pending.id.as_deref()
    }

    /// Checks that the data so far and the current line are within the limit.
    fn check(&self, line: usize) -> Result<(), TooLarge> {
        if self.pending.data.len() + line > self.limit { Err(TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    /// The position of the next complete line in the buffer, without the line end.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        if self.after_return && self.line < self.buffer.len() {
            self.after_return = false;
            if self.buffer[self.line] == b'\n' {
                self.line += 1;
            }
        }
        self.scanned = self.scanned.max(self.line);
        let found = memchr2(b'\n', b'\r', &self.buffer[self.scanned..]);
        let Some(found) = found else {
            self.scanned = self.buffer.len();
            return None;
        };
        let (start, end) = (self.line, self.scanned + found);
        self.after_return = self.buffer[end] == b'\r';
        self.line = end + 1;
        self.scanned = self.line;
        Some((start, end))
    }

    fn take_line(&mut self, start: usize, end: usize) -> Option<Event> {
        let mut line = &self.buffer[start..end];
        if !self.started {
            self.started = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &line[line.len()..]),
        };
        let value = String::from_utf8_lossy(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.pending.data.push('\n');
                }
                self.has_data = true;
                self.pending.data.push_str(&value);
            }
            b"event" => self.pending.event = Some(value.into_owned()).filter(|event| !event.is_empty()),
            b"id" if !value.contains('\0') => self.pending.id = Some(value.into_owned()),
            b"retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let next = Event { id: self.pending.id.clone(), ..Event::default() };
        let event = std::mem::replace(&mut self.pending, next);
        (std::mem::take(&mut self.has_data) && !event.data.is_empty()).then_some(event)
    }
}
