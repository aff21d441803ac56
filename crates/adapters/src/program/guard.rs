//! The guard of a program: a small shell that leads the process group, and ends the group after the server was killed.
//!
//! After a SIGKILL no code of the server runs. The other mechanisms are not sufficient: a parent-death signal is sent
//! when the *thread* that started the program ends, and a program can ignore the end of its stdin. The guard therefore
//! starts first, in a new process group, and the program joins the group, so the program is never without a guard. The
//! guard's stdin is a pipe from the server. The kernel closes the pipe at any end of the server; then the guard kills
//! the group and itself.

use std::{
    io,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::process::{Child, Command};

/// Before the end of the server, only SIGKILL to the group ends the script.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r end; kill -KILL 0";

/// The guard of a turn's program, and the leader of the process group. Dropping the value kills the guard; the runtime
/// reaps the guard.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// `None` on a machine without a shell. A program can then survive a killed server; the log contains a warning.
    pub(super) fn start() -> Option<Self> {
        static IS_LOGGED: AtomicBool = AtomicBool::new(false);
        match Self::shell() {
            Ok(guard) => Some(guard),
            Err(error) => {
                if !IS_LOGGED.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "programs: cannot start /bin/sh as a guard; programs survive a killed server");
                }
                None
            }
        }
    }

    fn shell() -> io::Result<Self> {
        Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map(Self)
    }

    /// The id of the guard's group.
    pub(super) fn id(&self) -> Option<u32> {
        self.0.id()
    }
}
