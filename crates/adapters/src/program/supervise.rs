//! Supervises a running program until its end: output, exit, cancellation and time limits.

use std::time::Duration;

use nuncio_engine::AgentError;
use nuncio_limit::sleep;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    clock::{self, Expired},
    process::{Ended, Process},
};

/// The maximum time for two waits: until other processes of the group close the output after the program's exit, and
/// until a killed program has ended.
const LINGER: Duration = Duration::from_secs(1);

/// The reason why the adapter stopped a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The client canceled the task.
    Canceled,
    /// The program has sent its last event, but did not exit.
    Over,
    /// A time limit was exceeded.
    Expired(Expired),
}

/// The requests to stop a program, and their form.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The client's cancel.
    pub(crate) cancelled: &'a CancellationToken,
    /// Sends the cancellation in the program's own protocol, if there is one; SIGTERM then follows later.
    pub(crate) tell: Option<&'a CancellationToken>,
    /// Set by the program's last event.
    pub(crate) over: &'a CancellationToken,
}

/// The next step against a program that must end.
#[derive(Debug, Clone, Copy)]
enum Step {
    Terminate,
    Kill,
    GiveUp,
}

impl Process {
    /// Runs until the program has ended and `work` has read the whole output.
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
        // A time beyond the range of the clock means never.
        let after = |time, step| Instant::now().checked_add(time).map(|at| (at, step));
        loop {
            tokio::select! {
                // The output is polled last, so that endless output does not delay the other branches.
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
                () = sleep::until(next.map(|(at, _)| at)) => match next.take() {
                    Some((_, Step::Terminate)) => {
                        self.group.terminate();
                        next = after(grace / 2, Step::Kill);
                    }
                    Some((_, Step::Kill)) => {
                        self.group.kill();
                        next = after(LINGER, Step::GiveUp);
                    }
                    // Existing output is read completely, even by a slow reader.
                    Some((_, Step::GiveUp)) if ended.output.is_none() && self.pulse.silence() < LINGER => {
                        next = after(LINGER, Step::GiveUp);
                    }
                    _ => break,
                },
                output = &mut work, if ended.output.is_none() => {
                    // Output is no longer read, so the program can be killed.
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
