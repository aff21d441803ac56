//! The process group of a turn's program: signalled as a whole, and gone when the turn is.

use rustix::{
    io,
    process::{Pid, Signal, kill_process_group},
};
use tokio::process::Child;

/// A process group. Dropping it kills what is left of it.
///
/// The group's id is that of its leader. The kernel gives it to no other process while a member lives; when none does,
/// a signal goes to nobody.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that this child leads.
    pub(super) fn of(leader: &Child) -> Self {
        Self(leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let Some(group) = self.0 else { return };
        match kill_process_group(group, signal) {
            // It is gone; some systems say EPERM where only zombies are left of it.
            Ok(()) | Err(io::Errno::SRCH | io::Errno::PERM) => {}
            Err(error) => tracing::warn!(?group, ?signal, %error, "a process group could not be signalled"),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
