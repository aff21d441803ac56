//! Watches over a running program until it is gone: its output, its end, cancels and limits of time.

use std::time::Duration;

use nuncio_engine::AgentError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    clock::{self, Expired},
    process::{Ended, Process},
};

/// How long what a program leaves behind may hold its output open, and how long a killed one may take to be gone.
const LINGER: Duration = Duration::from_secs(1);

/// Why a program was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The client canceled the task.
    Canceled,
    /// It said its last word, and went on.
    Over,
    /// A limit of time was passed.
    Expired(Expired),
}

/// What a program is asked to stop by, and how.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The client's cancel.
    pub(crate) cancelled: &'a CancellationToken,
    /// Tells the program of a cancel in its own language, where it has one; SIGTERM comes later then.
    pub(crate) tell: Option<&'a CancellationToken>,
    /// The program's last word.
    pub(crate) over: &'a CancellationToken,
}

/// What is done next to a program that should be gone.
#[derive(Debug, Clone, Copy)]
enum Step {
    Terminate,
    Kill,
    GiveUp,
}

impl Process {
    /// Lets the program work until it has ended and its output, which `work` reads, is at its end.
    pub(crate) async fn supervise(
        &mut self,
        asked: Asked<'_>,
        work: impl Future<Output = Result<(), AgentError>>,
    ) -> Ended {
        let grace = self.limits.grace;
        let expired = clock::expired(&self.limits, self.begun, &self.pulse);
        tokio::pin!(work, expired);
        let mut ended = Ended { exit: None, stop: None, output: None };
        let mut next: Option<(Instant, Step)> = None;
        // A time beyond all times is never.
        let after = |time, step| Instant::now().checked_add(time).map(|at| (at, step));
        loop {
            tokio::select! {
                // The output comes last: endless output must not keep the rest from being looked at.
                biased;
                exit = self.child.wait(), if ended.exit.is_none() => {
                    match exit {
                        Ok(exit) => ended.exit = Some(exit),
                        Err(error) => {
                            ended.output = Some(Err(error.into()));
                            break;
                        }
                    }
                    if ended.stop.is_some() {
                        self.group.kill();
                    }
                    next = after(LINGER, Step::Kill);
                }
                () = asked.cancelled.cancelled(), if ended.stop.is_none() => {
                    ended.stop = Some(Stop::Canceled);
                    if let Some(tell) = asked.tell {
                        tell.cancel();
                        next = after(grace, Step::Terminate);
                    } else {
                        self.group.terminate();
                        next = after(grace, Step::Kill);
                    }
                }
                () = asked.over.cancelled(), if ended.stop.is_none() => {
                    ended.stop = Some(Stop::Over);
                    next = after(grace, Step::Terminate);
                }
                expired = &mut expired, if ended.stop.is_none() => {
                    ended.stop = Some(Stop::Expired(expired));
                    self.group.terminate();
                    next = after(grace, Step::Kill);
                }
                () = until(next) => match next.take() {
                    Some((_, Step::Terminate)) => {
                        self.group.terminate();
                        next = after(grace / 2, Step::Kill);
                    }
                    Some((_, Step::Kill)) => {
                        self.group.kill();
                        next = after(LINGER, Step::GiveUp);
                    }
                    // Output that is there is read to its end, however slow its reader.
                    Some((_, Step::GiveUp)) if ended.output.is_none() && self.pulse.silence() < LINGER => {
                        next = after(LINGER, Step::GiveUp);
                    }
                    _ => break,
                },
                output = &mut work, if ended.output.is_none() => {
                    // Nobody reads on: there is nothing that it could still do.
                    if output.is_err() {
                        self.group.kill();
                        next = after(LINGER, Step::GiveUp);
                    }
                    ended.output = Some(output);
                }
            }
            if ended.exit.is_some() && ended.output.is_some() {
                break;
            }
        }
        ended
    }
}

async fn until(next: Option<(Instant, Step)>) {
    match next {
        Some((at, _)) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
