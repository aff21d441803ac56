//! The process group of a turn's program: signalled as a whole, and gone when the turn is.

use rustix::{
    io,
    process::{Pid, Signal, kill_process_group},
};
use tokio::process::Child;

use super::guard::Guard;

/// A process group. Dropping it kills what is left of it.
///
/// The group's id is that of its leader: the guard, or the program itself where there is none. The kernel gives it to
/// no other process while a member lives; when none does, a signal goes to nobody.
#[derive(Debug)]
pub(super) struct Group {
    id: Option<Pid>,
    // Dropped after the group was signalled, so that its id is its own until then.
    _guard: Option<Guard>,
}

impl Group {
    /// The group that a program is started in; 0 is a new one, which it leads.
    pub(super) fn to_join(guard: Option<&Guard>) -> i32 {
        guard.and_then(Guard::id).and_then(|id| i32::try_from(id).ok()).unwrap_or(0)
    }

    /// The group of this program.
    pub(super) fn of(guard: Option<Guard>, program: &Child) -> Self {
        let leader = guard.as_ref().map_or_else(|| program.id(), Guard::id);
        Self { id: leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw), _guard: guard }
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
        let Some(group) = self.id else { return };
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
