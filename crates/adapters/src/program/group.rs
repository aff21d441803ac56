//! The process group of a turn's program. Signals go to the whole group, and the group ends with the turn.

use rustix::{
    io,
    process::{Pid, Signal, kill_process_group},
};
use tokio::process::Child;

use super::guard::Guard;

/// A process group. Dropping the value kills the remaining members.
///
/// The group's id is the process id of the leader: the guard, or the program if there is no guard. The kernel does not
/// reuse the id while a member lives. Without members, a signal has no effect.
#[derive(Debug)]
pub(super) struct Group {
    id: Option<Pid>,
    // Dropped after the group is signalled, so that the group's id is not reused before.
    _guard: Option<Guard>,
}

impl Group {
    /// The group in which a program starts; 0 means a new group, with the program as leader.
    pub(super) fn to_join(guard: Option<&Guard>) -> i32 {
        guard.and_then(Guard::id).and_then(|id| i32::try_from(id).ok()).unwrap_or(0)
    }

    /// The group of this program.
    pub(super) fn of(guard: Option<Guard>, program: &Child) -> Self {
        let leader = guard.as_ref().map_or_else(|| program.id(), Guard::id);
        Self { id: leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw), _guard: guard }
    }

    /// Requests the end of the group (SIGTERM).
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends the group (SIGKILL).
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let Some(group) = self.id else { return };
        match kill_process_group(group, signal) {
            // The group has ended. Some systems return EPERM if only zombies remain.
            Ok(()) | Err(io::Errno::SRCH | io::Errno::PERM) => {}
            Err(error) => {
                tracing::warn!(?group, ?signal, %error, "programs: cannot signal a process group; its processes may remain");
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
