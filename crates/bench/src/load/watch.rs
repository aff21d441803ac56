//! Waits for data from the servers.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use mio::{Events, Poll};

use super::STALL;

/// The behaviour of the load generator when there is no data to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Polls continuously. Waking a thread on another core costs a server some microseconds, and a faster server has to
    /// wake the thread less often. With a sleeping reader, a slower server would therefore be disadvantaged twice.
    /// Requires a separate core.
    Awake,
    /// Sleeps, and leaves the core to other processes.
    Asleep,
}

/// The sockets of one measurement.
pub(super) struct Watch {
    poll: Poll,
    waits: Waits,
    idle: Duration,
}

impl Watch {
    pub(super) fn new(waits: Waits) -> Result<Self> {
        Ok(Self { poll: Poll::new()?, waits, idle: Duration::ZERO })
    }

    pub(super) fn poll(&self) -> &Poll {
        &self.poll
    }

    /// The time without work in the mode `Awake`.
    pub(super) fn idle(&self) -> Duration {
        self.idle
    }

    /// Waits for events; fails if a server sends nothing for [`STALL`].
    pub(super) fn wait(&mut self, events: &mut Events) -> Result<()> {
        let timeout = match self.waits {
            Waits::Awake => Duration::ZERO,
            Waits::Asleep => STALL,
        };
        let mut since: Option<Instant> = None;
        loop {
            match self.poll.poll(events, Some(timeout)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => events.clear(),
                Err(error) => return Err(error.into()),
                Ok(()) => {}
            }
            if !events.is_empty() {
                if let Some(since) = since {
                    self.idle += since.elapsed();
                }
                return Ok(());
            }
            if since.get_or_insert_with(Instant::now).elapsed() + timeout >= STALL {
                bail!("no answer for {} s", STALL.as_secs());
            }
        }
    }
}
