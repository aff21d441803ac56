//! Waiting for what the servers say.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use mio::{Events, Poll};

use super::STALL;

/// What the load generator does while there is nothing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It asks again and again. To wake a thread on another core costs a server some microseconds, and the faster a
    /// server is, the more rarely it would have to: so it would count against the slower one twice. Needs a core of its
    /// own.
    Awake,
    /// It sleeps, and leaves its core to others meanwhile.
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

    /// How long it had nothing to do while it was awake.
    pub(super) fn idle(&self) -> Duration {
        self.idle
    }

    /// Waits for events, and gives up on a server that says nothing.
    pub(super) fn wait(&mut self, events: &mut Events) -> Result<()> {
        let patience = match self.waits {
            Waits::Awake => Duration::ZERO,
            Waits::Asleep => STALL,
        };
        let mut since: Option<Instant> = None;
        loop {
            match self.poll.poll(events, Some(patience)) {
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
            if since.get_or_insert_with(Instant::now).elapsed() + patience >= STALL {
                bail!("no answer for {} s", STALL.as_secs());
            }
        }
    }
}
